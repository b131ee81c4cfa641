import type {Outflow} from './chat/outflow.ts'
import type {Sampled} from './outgoing.ts'
import {OTHER, shapeOf} from './shape.ts'

type Row = Record<string, string>

/** Rows as they may leave, by the names their columns leave under. A shape that one value alone has is told as another, as in the columns themselves. */
export const outgoingRows = (rows: readonly Row[], judged: readonly Sampled[], out: Outflow): Row[] => {
  if (out.policy === 'deny') return []
  const masked = rows.map(row =>
    out.columns.map(({samples, personal}, at) => {
      const cell = row[judged[at]!.name] ?? ''
      if (!personal || cell.trim() === '') return cell
      const shape = shapeOf(cell)
      return samples.includes(shape) ? shape : OTHER
    }),
  )
  const struck = out.value(masked) as string[][]
  return struck.map(cells => Object.fromEntries(cells.map((cell, at) => [out.columns[at]!.name, cell])))
}
