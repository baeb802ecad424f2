import DefaultTheme from "vitepress/theme";
import ErrorList from "./ErrorList.vue";
import Mermaid from "./Mermaid.vue";
import "./style.css";

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => app.component("ErrorList", ErrorList).component("Mermaid", Mermaid),
};
