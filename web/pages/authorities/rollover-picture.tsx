/** Draws the keys of one name under their issuer with what chains to each; a table says it too. */

import { useEffect, useMemo, useState } from "preact/hooks";
import { Table } from "#web/ui/list.tsx";
import { Status } from "#web/ui/status.tsx";
import { Day } from "#web/ui/time.tsx";

/** One key of a lineage, or one that is planned. */
export interface PicturedKey {
  readonly id: string;
  readonly label: string;
  readonly key: string;
  readonly state: string;
  readonly until: string | undefined;
  /** What chains to it, in words. */
  readonly below: string;
  readonly planned?: boolean;
}

interface RolloverPictureProps {
  readonly issuer: string;
  /** Oldest first; the newest few are drawn, all are in the table. */
  readonly keys: readonly PicturedKey[];
}

/** The picture and its equivalent. */
export function RolloverPicture({ issuer, keys }: RolloverPictureProps) {
  const drawn = keys.slice(-drawnMax);
  const isNarrow = useNarrow();
  return (
    <>
      {isNarrow ? <Down issuer={issuer} keys={drawn} /> : <Across issuer={issuer} keys={drawn} />}
      <div class="list">
        <div class="scroll">
          <Table
            caption="Keys, oldest first, and what chains to each"
            columns={columns}
            rows={keys}
            keyOf={({ id }) => id}
          />
        </div>
      </div>
    </>
  );
}

/** Whether the window is one of those for which the style sheets have rules of their own. */
function useNarrow(): boolean {
  const narrow = useMemo(() => matchMedia("(max-width: 719px)"), []);
  const [matches, setMatches] = useState(narrow.matches);
  useEffect(() => {
    const follow = () => setMatches(narrow.matches);
    narrow.addEventListener("change", follow);
    return () => narrow.removeEventListener("change", follow);
  }, [narrow]);
  return matches;
}

/** The keys side by side, where there is room. */
function Across({ issuer, keys }: RolloverPictureProps) {
  const width = keys.length * columnWidth;
  return (
    <svg
      class="picture"
      viewBox={`0 0 ${width} 216`}
      width={width}
      role="img"
      aria-label={named(issuer)}
    >
      <Box x={width / 2} y={4} label={issuer} words="issuer" />
      {keys.map((key, index) => (
        <Column
          key={key.id}
          shown={key}
          x={index * columnWidth + columnWidth / 2}
          from={width / 2}
        />
      ))}
    </svg>
  );
}

/** The keys one below the other, in a narrow window: as large as there, and nothing to scroll. */
function Down({ issuer, keys }: RolloverPictureProps) {
  const height = 64 + keys.length * rowHeight;
  const rows = keys.map((shown, index) => ({ shown, y: 64 + index * rowHeight }));
  return (
    <svg
      class="picture"
      viewBox={`0 0 ${indent + columnWidth} ${height}`}
      width={indent + columnWidth}
      role="img"
      aria-label={named(issuer)}
    >
      <Box x={columnWidth / 2} y={4} label={issuer} words="issuer" />
      {/* The longest line first, so that the way to each key has its own look on top. */}
      {rows.toReversed().map(({ shown, y }) => (
        <path
          key={shown.id}
          class={`line ${lookOf(shown)}`}
          d={`M${indent / 2 + 8} 48V${y + 22}H${indent + 8}`}
        />
      ))}
      {rows.map(({ shown, y }) => (
        <Key key={shown.id} shown={shown} x={indent + columnWidth / 2} y={y} stem={16} />
      ))}
    </svg>
  );
}

const named = (issuer: string): string => `The keys below ${issuer}, as in the table that follows`;

interface ColumnProps {
  readonly shown: PicturedKey;
  readonly x: number;
  /** Where the issuer stands. */
  readonly from: number;
}

const Column = ({ shown, x, from }: ColumnProps) => (
  <g>
    <path class={`line ${lookOf(shown)}`} d={`M${from} 48V66H${x}V84`} />
    <Key shown={shown} x={x} y={84} stem={36} />
  </g>
);

interface KeyProps {
  readonly shown: PicturedKey;
  readonly x: number;
  readonly y: number;
  /** How long the line is to what chains to it. */
  readonly stem: number;
}

/** One key, and what chains to it. */
function Key({ shown, x, y, stem }: KeyProps) {
  const { label, key, state, below, planned = false } = shown;
  const kind = planned ? "planned" : state;
  const end = y + 44 + stem;
  return (
    <>
      <Box x={x} y={y} label={label} words={`${key}, ${kind}`} kind={kind} />
      <path class={`line ${lookOf(shown)}`} d={`M${x} ${y + 44}V${end}`} />
      <text class="small" x={x} y={end + 20} text-anchor="middle">
        {clipped(below)}
      </text>
      <text class="small quiet" x={x} y={end + 40} text-anchor="middle">
        {belowWords(state, planned)}
      </text>
    </>
  );
}

/** How its lines are drawn: cut where the key has been retired. */
const lookOf = ({ state, planned = false }: PicturedKey): string =>
  state === "retired" ? "cut" : planned ? "planned" : state;

interface BoxProps {
  readonly x: number;
  readonly y: number;
  readonly label: string;
  readonly words: string;
  readonly kind?: string;
}

const Box = ({ x, y, label, words, kind = "issuer" }: BoxProps) => (
  <>
    <rect
      class={`box ${kind}`}
      x={x - columnWidth / 2 + 8}
      y={y}
      width={columnWidth - 16}
      height={44}
      rx={6}
    />
    <text class="name" x={x} y={y + 18} text-anchor="middle">
      {clipped(label)}
    </text>
    <text class="small quiet" x={x} y={y + 35} text-anchor="middle">
      {clipped(words)}
    </text>
  </>
);

function belowWords(state: string, planned: boolean): string {
  if (planned) return "signs everything new";
  if (state === "active") return "chain to it, more to come";
  return state === "retired" ? "have lost their path" : "still chain to it";
}

const columns = [
  { name: "Key of", cell: ({ label }: PicturedKey) => label },
  {
    name: "State",
    cell: ({ state, planned }: PicturedKey) =>
      planned ? <Status word="planned" /> : <Status word={state} />,
  },
  { name: "Key", cell: ({ key }: PicturedKey) => key, wide: true },
  { name: "Until", cell: ({ until }: PicturedKey) => <Day at={until} />, wide: true },
  { name: "Chain to it", cell: ({ below }: PicturedKey) => below },
];

/** What fits into a box. */
const clipped = (text: string): string => (text.length > 26 ? `${text.slice(0, 25)}…` : text);

const columnWidth = 208;
/** Of the keys that stand one below the other: how far in, and how far apart. */
const indent = 24;
const rowHeight = 120;
const drawnMax = 4;
