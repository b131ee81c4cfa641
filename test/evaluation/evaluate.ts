import {readFileSync} from 'node:fs'
import {type LocalProposal, type MatchField, proposeMapping} from '../../shared/assistant/matcher/propose.ts'

/** The header of a file. `columns`: each column with the field that a person would choose, or null if the module has none. */
export type Table = {
  name: string
  language: string
  module: string
  source?: string
  columns: Record<string, string | null>
  samples?: Record<string, string[]>
}

type StatedField = Omit<MatchField, 'module' | 'picklist'> & {picklist?: string[]}

const folder = new URL('./', import.meta.url)

export const readText = (name: string) => readFileSync(new URL(name, folder), 'utf8')
export const readTables = (name: string): Table[] => JSON.parse(readText(name))

const stated: Record<string, StatedField[]> = JSON.parse(readText('fields.json'))

export const fieldsOf = (module: string): MatchField[] =>
  stated[module]!.map(({picklist, ...field}) => ({
    ...field,
    module,
    ...(picklist && {picklist: picklist.map(option => ({display: option, actual: option}))}),
  }))

export type SummariseInput = {table: Table; proposal: LocalProposal; expected: string | null; isRight: boolean}

/** Proposes a field for each column, from names and from samples where the table has them, and compares each with the expected field. */
export const judge = (tables: Table[]): SummariseInput[] =>
  tables.flatMap(table => {
    const columns = Object.entries(table.columns)
    const proposals = proposeMapping({
      columns: columns.map(([name]) => ({name, samples: table.samples?.[name] ?? []})),
      fields: fieldsOf(table.module),
    })
    return proposals.map((proposal, at) => {
      const expected = columns[at]![1]
      return {table, proposal, expected, isRight: proposal.field === expected || isPersonsName(table, columns[at]!, proposal)}
    })
  })

const person = '(?:(?:contact|kontakt|customer|lead|person|your)[ _-]*)?'
const PLAIN_NAME = new RegExp(`^${person}(?:name|nombre|nome|nom|naam)$|^contactpersoon$`, 'i')

/**
 * Whether the last name was proposed for a column with a person's full name, which counts as right. The label of such a column is null,
 * because no import can write the field of the full name. README.md says when and why this rule was added.
 */
const isPersonsName = ({module}: Table, [name, expected]: [string, string | null], {field}: LocalProposal) =>
  expected === null && field === 'Last_Name' && (module === 'Leads' || module === 'Contacts') && PLAIN_NAME.test(name.trim())

/**
 * Summarises the proposals. `top1`: share of columns answered as a person would, including null. `precision`: share of right proposals among all
 * proposals. `recall`: share of right answers among columns with a field.
 */
export const summarise = (judged: SummariseInput[]) => {
  const proposed = judged.filter(({proposal}) => proposal.field !== null)
  const mapped = judged.filter(({expected}) => expected !== null)
  const share = (list: SummariseInput[]) => (list.length === 0 ? 1 : list.filter(({isRight}) => isRight).length / list.length)
  return {
    columns: judged.length,
    mapped: mapped.length,
    proposed: proposed.length,
    top1: share(judged),
    precision: share(proposed),
    recall: share(mapped),
  }
}
