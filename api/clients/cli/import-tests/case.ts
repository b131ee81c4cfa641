import {dirname, join} from 'node:path'
import {parseAllDocuments} from 'yaml'
import type {Json} from '../../http.ts'
import {badFile} from '../failure.ts'

/** Expected numbers of rows: by outcome over all modules, or by module and outcome. */
export type ExpectedCounts = Record<string, number | Record<string, number>>
/**
 * The expected outcome of a row: a name, or an object with `outcome` and other keys of the row's entry. For a row of several modules: an object with
 * such a value for each module.
 */
export type ExpectedRow = string | Record<string, unknown>
export type CaseRecords = Record<string, Json[]>

export type CaseAnswer = {
  /** The row whose question is answered. If it is left out, the answer becomes a rule for the questions of `flow`. */
  row?: number
  flow?: string
  /** `flow`, `kind` and `field` limit the answer to matching questions of the row, or limit the rule if `row` is absent. */
  kind?: string
  field?: string
  choice?: string
  /** Field values that select one candidate record. */
  record?: Json
}

/** One import test: the files of a template, the records of the CRM before, and what is expected after the run. */
export type ImportCase = {
  name: string
  template: string
  /** Paths by slot. If `files` is a single path, the key is empty. */
  files: Record<string, string>
  crm: CaseRecords
  answers: CaseAnswer[]
  expect: {counts?: ExpectedCounts; rows?: Record<string, ExpectedRow>; records?: CaseRecords}
}

const keys = ['name', 'template', 'files', 'crm', 'answers', 'expect']
const expectations = ['counts', 'rows', 'records']
const outcomes: unknown[] = ['created', 'updated', 'inherited', 'skipped', 'refused', 'failed', 'unanswered', 'lookup']
const countedOutcomes = ['created', 'updated', 'skipped', 'filtered', 'refused', 'failed', 'unanswered']
const rowKeys = ['outcome', 'code', 'field', 'module']

/** Reads the cases of one YAML file: a case, a list of cases, or several documents. Paths are relative to the file. */
export const parseCases = (path: string, text: string): ImportCase[] => {
  const documents = parseAllDocuments(text, {prettyErrors: true})
  if (!Array.isArray(documents)) return []
  const error = documents.flatMap(({errors}) => errors)[0]
  if (error) throw badFile(`${path} is not YAML: ${error.message}`, 'Fix the file, then run the command again')
  const cases = documents.flatMap(document => document.toJS() ?? [])
  return cases.map((one: unknown, at: number) => readCase(path, one, at + 1))
}

const readCase = (path: string, given: unknown, number: number): ImportCase => {
  const wrong = (message: string) => badFile(`${path}, case ${number}: ${message}`, 'See: lading test --help')
  if (!isObject(given)) throw wrong('a case is an object with template, files and expect')
  const unknown = Object.keys(given).find(key => !keys.includes(key))
  if (unknown !== undefined) throw wrong(`${unknown} is not a key of a case (${keys.join(', ')})`)
  const {template, name = template, crm = {}, answers = [], expect} = given
  if (typeof template !== 'string') throw wrong('template is the name of a template')
  if (!isObject(expect)) throw wrong('expect needs counts, rows or records')
  const other = Object.keys(expect).find(key => !expectations.includes(key))
  if (other !== undefined) throw wrong(`${other} is not an expectation (${expectations.join(', ')})`)
  if (Object.keys(expect).length === 0) throw wrong('expect needs counts, rows or records')
  assertExpected(expect, wrong)
  if (!isObject(crm) || !areRecords(crm.records ?? {})) throw wrong('crm.records lists records by module')
  if (!isListOfObjects(answers)) throw wrong('answers is a list of objects')
  return {name: String(name), template, files: readFiles(path, given.files, wrong), crm: crm.records ?? {}, answers, expect}
}

/** Throws if an expectation would always fail or always pass, whatever the run does. */
const assertExpected = ({counts = {}, rows = {}, records = {}}: Record<string, Json>, wrong: (message: string) => Error) => {
  if (!areCounts(counts) && !isEvery(counts, areCounts))
    throw wrong(`expect.counts has a number for each outcome, or for each outcome of each module (${countedOutcomes.join(', ')})`)
  if (!areRecords(records)) throw wrong('expect.records lists records by module')
  if (!isObject(rows)) throw wrong('expect.rows has an outcome for each row')
  for (const [key, expected] of Object.entries(rows)) {
    if (isRowNumber(key) ? isRow(expected) : isEvery(expected, (row, number) => isRowNumber(number) && isRow(row))) continue
    throw wrong(
      `expect.rows.${key} needs an outcome, or {outcome: refused, field: Phone}, or one of these for each module. With several files, list rows by slot`,
    )
  }
}

const isRowNumber = (key: string) => /^\d+$/.test(key)
const isOutcome = (value: unknown) =>
  isObject(value) ? outcomes.includes(value.outcome) && Object.keys(value).every(key => rowKeys.includes(key)) : outcomes.includes(value)
const isRow = (value: unknown) => isOutcome(value) || (isEvery(value, isOutcome) && Object.keys(value as object).length > 0)
const areCounts = (value: unknown) => isEvery(value, (count, outcome) => Number.isInteger(count) && countedOutcomes.includes(outcome))
const areRecords = (value: unknown) => isEvery(value, isListOfObjects)
const isListOfObjects = (value: unknown): value is Json[] => Array.isArray(value) && value.every(isObject)
const isEvery = (value: unknown, isValid: (one: unknown, key: string) => boolean) =>
  isObject(value) && Object.entries(value).every(([key, one]) => isValid(one, key))

const readFiles = (path: string, files: unknown, wrong: (message: string) => Error): Record<string, string> => {
  const at = (file: unknown) => {
    if (typeof file === 'string') return join(dirname(path), file)
    throw wrong('files is a path, or a path for each slot')
  }
  if (isObject(files)) return Object.fromEntries(Object.entries(files).map(([slot, file]) => [slot, at(file)]))
  return {'': at(files)}
}

const isObject = (value: unknown): value is Record<string, Json> => typeof value === 'object' && value !== null && !Array.isArray(value)
