import {readFileSync} from 'node:fs'
import {type MatchField, type Proposal, proposeMapping} from '../../shared/ai/matcher/propose.ts'

/** A file's header line: each column's name with the field a person would put it in, or null for none of the module's. */
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
    ...{...field, module},
    ...(picklist && {picklist: picklist.map(option => ({display: option, actual: option}))}),
  }))

export type Judged = {table: Table; proposal: Proposal; expected: string | null; isRight: boolean}

/** Every column as its whole file is answered: by the names, and by values where the table has some. */
export const judge = (tables: Table[]): Judged[] =>
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
 * A column with a person's full name is labelled null, because no import can write the field of the full name. The required last name counts as
 * right too. README.md says when and why this rule was added.
 */
const isPersonsName = ({module}: Table, [name, expected]: [string, string | null], {field}: Proposal) =>
  expected === null && field === 'Last_Name' && (module === 'Leads' || module === 'Contacts') && PLAIN_NAME.test(name.trim())

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
