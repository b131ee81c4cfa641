/**
 * Confidence by score: how often the best field with that score is right in the development set. The table has the values that `node
 * test/evaluation/calibrate.ts` prints, at round scores. The values between 0.65 and 0.9 are lowered, because data is sparse there and the set was
 * also used for tuning. Scores between two points are interpolated.
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

/** The lowest confidence at which a field is proposed. */
export const proposedFrom = 0.5

/**
 * Returns the confidence, 0 to 1. `margin` is the distance in score to the column's next free field. A small margin lowers the confidence,
 * because both fields are then about equally likely.
 */
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
