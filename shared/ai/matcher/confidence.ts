/**
 * How often the best field of such a score is right, by the development set: what `node test/evaluation/calibrate.ts` fits, at round
 * scores, and drawn down between 0.65 and 0.9, where few columns are and the set flatters what was tuned on it. Between two points it is a straight line.
 */
const table: readonly (readonly [score: number, confidence: number])[] = [
  [0, 0],
  [0.3, 0.03],
  [0.52, 0.06],
  [0.56, 0.16],
  [0.595, 0.38],
  [0.65, 0.7],
  [0.75, 0.85],
  [0.8, 0.92],
  [0.9, 0.97],
  [0.96, 0.985],
  [1, 0.995],
]

/** What is proposed at or above this, and nothing below it. */
export const proposedFrom = 0.5

/** 0 to 1. `margin`: how far before the column's next free field. As good as another, it is as likely the other. */
export const confidenceOf = (score: number, margin: number): number => {
  const plain = shareAt(score)
  if (margin < 0.005) return plain * 0.5
  return margin < 0.03 ? plain * 0.9 : plain
}

const shareAt = (score: number): number => {
  const above = table.findIndex(([at]) => at >= score)
  if (above < 0) return table.at(-1)![1]
  if (above === 0) return table[0]![1]
  const [[from, low], [to, high]] = [table[above - 1]!, table[above]!]
  return low + ((score - from) / (to - from)) * (high - low)
}
