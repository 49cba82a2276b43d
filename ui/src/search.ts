// Which attempts contain a text? Reads the UTF-8 of all texts without making strings of them.

const END_OF_ATTEMPT = 0xfe;

/** The texts of consecutive attempts, with the place of the first. */
export interface Texts {
  readonly first: number;
  readonly bytes: Uint8Array;
}

/** Each byte of a needle in small and capital letters. Letters whose UTF-8 differs in length are taken as written. */
function variants(text: string): [Uint8Array, Uint8Array] {
  const encoder = new TextEncoder();
  const small = encoder.encode(text.toLowerCase());
  const capital = encoder.encode(text.toUpperCase());
  if (small.length === capital.length) return [small, capital];
  const written = encoder.encode(text);
  return [written, written];
}

// The rarer a byte is in most texts, the fewer places must be compared in full.
const COMMON = new TextEncoder().encode("etaoinshrdlcum ");

function rarest(bytes: Uint8Array): number {
  let best = 0;
  let rank = -1;
  bytes.forEach((byte, index) => {
    const common = COMMON.indexOf(byte);
    const own = common < 0 ? COMMON.length : common;
    if (own > rank) [best, rank] = [index, own];
  });
  return best;
}

/** Adds the places of the attempts whose texts contain a text, without regard to case. */
export function find(texts: Texts, text: string, places: Set<number>): void {
  const [small, capital] = variants(text);
  if (small.length === 0) return;
  const { bytes } = texts;
  const offset = rarest(small);
  const a = small[offset]!;
  const b = capital[offset]!;
  const end = bytes.length - small.length + offset;
  let place = texts.first;
  // The start of the attempt that is read, and the byte after its end.
  let stop = bytes.indexOf(END_OF_ATTEMPT);
  for (let i = offset; i <= end; i++) {
    if (i > stop) {
      const skipped = i - offset;
      while (stop >= 0 && skipped > stop) {
        place += 1;
        stop = bytes.indexOf(END_OF_ATTEMPT, stop + 1);
      }
      if (stop < 0) return;
    }
    const byte = bytes[i];
    if (byte !== a && byte !== b) continue;
    if (equal(bytes, i - offset, small, capital)) {
      // A match may begin behind the end of the attempt in which its rarest byte was looked for.
      while (stop >= 0 && i - offset > stop) {
        place += 1;
        stop = bytes.indexOf(END_OF_ATTEMPT, stop + 1);
      }
      places.add(place);
      i = stop + offset;
      if (stop < 0) return;
    }
  }
}

function equal(bytes: Uint8Array, start: number, small: Uint8Array, capital: Uint8Array): boolean {
  for (let j = 0; j < small.length; j++) {
    const byte = bytes[start + j];
    if (byte !== small[j] && byte !== capital[j]) return false;
  }
  return true;
}

/** Splits the texts of a chunk: a list of texts for each attempt. */
export function split(bytes: Uint8Array): string[][] {
  const decoder = new TextDecoder();
  const attempts: string[][] = [];
  let texts: string[] = [];
  let start = 0;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (byte < END_OF_ATTEMPT) continue;
    if (byte === 0xff || i > start) texts.push(decoder.decode(bytes.subarray(start, i)));
    start = i + 1;
    if (byte === END_OF_ATTEMPT) {
      attempts.push(texts);
      texts = [];
    }
  }
  return attempts;
}
