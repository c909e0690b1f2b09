/** Draws the keys of one name under their issuer with what chains to each; a table says it too. */

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
  const width = drawn.length * columnWidth;
  return (
    <>
      <svg
        class="picture"
        viewBox={`0 0 ${width} 216`}
        width={width}
        role="img"
        aria-label={`The keys below ${issuer}, as in the table that follows`}
      >
        <Box x={width / 2} y={4} label={issuer} words="issuer" />
        {drawn.map((key, index) => (
          <Column
            key={key.id}
            shown={key}
            x={index * columnWidth + columnWidth / 2}
            from={width / 2}
          />
        ))}
      </svg>
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

interface ColumnProps {
  readonly shown: PicturedKey;
  readonly x: number;
  /** Where the issuer stands. */
  readonly from: number;
}

function Column({ shown, x, from }: ColumnProps) {
  const { label, key, state, below, planned = false } = shown;
  const cut = state === "retired";
  const kind = planned ? "planned" : state;
  return (
    <g>
      <path class={`line ${cut ? "cut" : kind}`} d={`M${from} 48V66H${x}V84`} />
      <Box x={x} y={84} label={label} words={`${key}, ${kind}`} kind={kind} />
      <path class={`line ${cut ? "cut" : kind}`} d={`M${x} 128V164`} />
      <text class="small" x={x} y={184} text-anchor="middle">
        {clipped(below)}
      </text>
      <text class="small quiet" x={x} y={204} text-anchor="middle">
        {belowWords(state, planned)}
      </text>
    </g>
  );
}

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
const drawnMax = 4;
