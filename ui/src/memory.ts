// The choices of a reader that outlive the page. A browser may refuse to store them, for example for files.

export function remembered(name: string): string | null {
  try {
    return localStorage.getItem(`fairtrial.${name}`);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`fairtrial.${name}`, value);
  } catch {
    // The choice then holds for this page only.
  }
}
