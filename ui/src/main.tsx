// The start of the program: it takes the place of the plain summary as soon as the index is read.
import { render } from "preact";
import { App } from "./app";
import { EmbeddedSource } from "./embedded";

const root = document.getElementById("app");
if (root) {
  EmbeddedSource.open().then(
    (source) => {
      root.replaceChildren();
      render(<App source={source} />, root);
    },
    // Without the index, the plain summary stays.
    (error: unknown) => console.error(error),
  );
}
