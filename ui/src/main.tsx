// The start of the program. In a file it takes the place of the plain summary as soon as the index is read.
import { render } from "preact";
import { FilePage } from "./app";
import { Client } from "./client";
import { EmbeddedSource } from "./embedded";
import { Viewer } from "./viewer";

function content(name: string): string | undefined {
  return document.querySelector<HTMLMetaElement>(`meta[name="${name}"]`)?.content;
}

const root = document.getElementById("app");
const token = content("fairtrial-token");
if (root && token !== undefined) {
  render(<Viewer client={new Client(token)} made={content("fairtrial-language") ?? ""} />, root);
} else if (root) {
  EmbeddedSource.open().then(
    (source) => {
      root.replaceChildren();
      render(<FilePage source={source} />, root);
    },
    // Without the index, the plain summary stays.
    (error: unknown) => console.error(error),
  );
}
