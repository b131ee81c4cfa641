import type {OutputMask} from './chat/output-mask.ts'
import type {SampledColumn} from './sample-masking.ts'
import {OTHER, shapeOf} from './shape.ts'

type Row = Record<string, string>

/**
 * Returns rows that may be sent, with the masked column names as keys. A filled cell of a personal column is sent as its shape. If the column's
 * samples lack that shape, it is sent as `other`, because a rare shape could identify the value. In the cells of other columns, `out` redacts or
 * masks personal values. The policy `deny` sends no rows.
 */
export const outgoingRows = (rows: readonly Row[], judged: readonly SampledColumn[], out: OutputMask): Row[] => {
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
