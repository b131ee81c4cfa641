/**
 * How often a proposal of such a score is right, from the development set (test/evaluation/development.json): score, then share. Between
 * two points it is a straight line. `npm run -s calibrate` has no part in it: `test/evaluation/calibrate.ts` prints the table.
 */
const table: readonly (readonly [score: number, confidence: number])[] = [
  [0, 0],
  [0.3, 0.1],
  [0.5, 0.3],
  [0.6, 0.5],
  [0.75, 0.75],
  [0.9, 0.95],
  [1, 0.99],
]

/** What is proposed at or above this, and nothing below it. */
export const proposedFrom = 0.5

/** 0 to 1. `margin`: how far the field's score is before the column's next best, which says that nothing else is meant. */
export const confidenceOf = (score: number, margin: number): number => {
  const above = table.findIndex(([at]) => at >= score)
  if (above < 0) return table.at(-1)![1]
  if (above === 0) return table[0]![1]
  const [[from, low], [to, high]] = [table[above - 1]!, table[above]!]
  const plain = low + ((score - from) / (to - from)) * (high - low)
  return Math.max(0, Math.min(1, margin < 0.03 && score < 0.99 ? plain * 0.9 : plain))
}
