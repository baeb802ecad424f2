import DefaultTheme from "vitepress/theme";
import ErrorList from "./ErrorList.vue";
import "./style.css";

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => app.component("ErrorList", ErrorList),
};
