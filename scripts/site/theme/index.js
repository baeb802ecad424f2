import { h } from "vue";
import DefaultTheme from "vitepress/theme";
import ErrorList from "./ErrorList.vue";
import InstallSelector from "./InstallSelector.vue";
import Mermaid from "./Mermaid.vue";
import OperatorTable from "./OperatorTable.vue";
import Stamp from "./Stamp.vue";
import "./style.css";

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { "layout-bottom": () => h(Stamp) }),
  enhanceApp: ({ app }) => {
    for (const [name, component] of Object.entries({ ErrorList, InstallSelector, Mermaid, OperatorTable })) app.component(name, component);
  },
};
