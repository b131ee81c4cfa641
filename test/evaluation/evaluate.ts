import {readFileSync} from 'node:fs'
import {type MatchField, type Proposal, proposeMapping} from '../../shared/ai/matcher/propose.ts'

/** A file's header line: each column's name with the field a person would put it in, or null for none of the module's. */
export type Table = {name: string; language: string; module: string; source?: string; columns: Record<string, string | null>}

type StatedField = Omit<MatchField, 'module' | 'picklist'> & {picklist?: string[]}

const folder = new URL('./', import.meta.url)

export const readText = (name: string) => readFileSync(new URL(name, folder), 'utf8')
export const readTables = (name: string): Table[] => JSON.parse(readText(name))

const stated: Record<string, StatedField[]> = JSON.parse(readText('fields.json'))

export const fieldsOf = (module: string): MatchField[] =>
  stated[module]!.map(({picklist, ...field}) => ({
    ...{...field, module},
    ...(picklist && {picklist: picklist.map(option => ({display: option, actual: option}))}),
  }))

export type Judged = {table: Table; proposal: Proposal; expected: string | null; isRight: boolean}

/** Every column as its whole file's header line is answered, by names alone. */
export const judge = (tables: Table[]): Judged[] =>
  tables.flatMap(table => {
    const columns = Object.entries(table.columns)
    const proposals = proposeMapping({columns: columns.map(([name]) => ({name})), fields: fieldsOf(table.module)})
    return proposals.map((proposal, at) => {
      const expected = columns[at]![1]
      return {table, proposal, expected, isRight: proposal.field === expected}
    })
  })

/** `top1`: columns answered as a person would, null included; `precision`: of what was proposed; `recall`: of columns that have a field. */
export const summarise = (judged: Judged[]) => {
  const proposed = judged.filter(({proposal}) => proposal.field !== null)
  const mapped = judged.filter(({expected}) => expected !== null)
  const share = (list: Judged[]) => (list.length === 0 ? 1 : list.filter(({isRight}) => isRight).length / list.length)
  return {
    columns: judged.length,
    mapped: mapped.length,
    proposed: proposed.length,
    top1: share(judged),
    precision: share(proposed),
    recall: share(mapped),
  }
}
