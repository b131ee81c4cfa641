import type {Flow} from '../imports/import.ts'
import {type Loaded, useLoad} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import type {Question} from './answering.ts'
import {type Cells, cellOf} from './rows-table.ts'

/** The first row of a question. `byField` maps each field to the cell that fills it. `keys` are the cells by which a person recognises the row. */
export type QuestionRow = {number: number; byField: ReadonlyMap<string, string>; keys: {column: string; value: string}[]}
export type FindRow = (question: Question) => QuestionRow | null

type Input = {importId: string; runId: string; flows: readonly Flow[]; questions: readonly Question[]}

/** Reads the first row of each question, as the run read it. The row is null if its file was deleted or its cells cannot be read. */
export const useQuestionRows = ({importId, runId, flows, questions}: Input): Loaded<FindRow> => {
  const sourceOf = ({flowId}: Question) => flows.find(({id}) => id === flowId)?.sourceId
  return useLoad<FindRow>(
    async signal => {
      const groups = [...Map.groupBy(questions, sourceOf)].flatMap(([source, asked]) => (source === undefined ? [] : [{source, asked}]))
      const read = await Promise.all(
        groups.map(async ({source, asked}) => {
          const rows = [...new Set(asked.flatMap(({rowNumbers}) => rowNumbers.slice(0, 1)))].join(',')
          const path = inOrg(`/imports/${importId}/runs/${runId}/rows/cells`)
          return [source, await client.get<Cells>(path, {source, rows}, signal).catch(() => null)] as const
        }),
      )
      const cellsOf = new Map(read)
      return question => rowOf(question, cellsOf.get(sourceOf(question) ?? '') ?? null)
    },
    [runId, JSON.stringify(questions.map(({key}) => key))],
  )
}

const rowOf = ({flowId, rowNumbers: [number]}: Question, cells: Cells | null): QuestionRow | null => {
  if (number === undefined || !cells?.rows.some(({rowNumber}) => rowNumber === number)) return null
  const fields = cells.fields.filter(one => one.flowId === flowId)
  return {
    number,
    byField: new Map(fields.map(({field, column}) => [field, cellOf(cells, number, column)])),
    keys: cells.keys.map(column => ({column, value: cellOf(cells, number, column)})),
  }
}
