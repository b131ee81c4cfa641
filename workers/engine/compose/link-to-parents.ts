import {type ImportRow, isRow} from '../model.ts'
import type {RowPipeline} from '../pipeline-state.ts'
import {settleFailures} from '../settle/unsent-rows.ts'
import {joinParents} from './parents.ts'

/**
 * Links rows that waited for their parents. Settles rows that end because they have no parent record, or several, and returns them as
 * `ended`.
 */
export const linkToParents = async (pipeline: RowPipeline, rows: ImportRow[]): Promise<{rows: ImportRow[]; ended: ImportRow[]}> => {
  const waited = rows.filter(({waitsFor}) => waitsFor)
  if (waited.length === 0) return {rows, ended: []}
  const joined = await joinParents(pipeline.ctx, pipeline.flow, waited)
  const over = rows.flatMap(row => {
    const end = joined.get(row)
    return end && !isRow(end) ? [{...end, row}] : []
  })
  if (over.length === 0) return {rows, ended: []}
  await settleFailures(pipeline, over)
  const ended = new Set(over.map(({row}) => row))
  return {rows: rows.filter(row => !ended.has(row)), ended: [...ended]}
}
