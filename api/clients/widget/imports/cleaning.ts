import type {CleaningStep} from './import.ts'

/** The kinds of cleaning steps, as they are offered. `asks`: what a step of the kind has to be told. */
type Ask = 'columns' | 'someColumns' | 'replace' | 'split' | 'rows' | 'expression' | 'ignoreCase'
export type StepKind = {step: string; label: string; group: string; asks: Ask[]}

export const stepKinds: StepKind[] = [
  {step: 'trim', label: 'Trim blanks at both ends', group: 'Change cells', asks: ['columns']},
  {step: 'collapseSpaces', label: 'Make one space of several', group: 'Change cells', asks: ['columns']},
  {step: 'replace', label: 'Replace text', group: 'Change cells', asks: ['replace', 'columns']},
  {step: 'fillDown', label: 'Fill empty cells from above', group: 'Change cells', asks: ['someColumns']},
  {step: 'split', label: 'Split a column', group: 'Change cells', asks: ['split']},
  {step: 'strikeEmpty', label: 'Strike empty rows', group: 'Strike rows', asks: ['columns']},
  {step: 'strikeDuplicates', label: 'Strike repeated rows', group: 'Strike rows', asks: ['someColumns', 'ignoreCase']},
  {step: 'strikeRows', label: 'Strike rows by number', group: 'Strike rows', asks: ['rows']},
  {step: 'strikeWhere', label: 'Strike rows by an expression', group: 'Strike rows', asks: ['expression']},
]

export const kindOf = (step: string): StepKind => stepKinds.find(kind => kind.step === step) ?? {step, label: step, group: '', asks: []}

/** What a person has typed of a step; `makeStep` makes one of it, or says what is missing. */
export type StepDraft = {
  step: string
  columns: string[]
  find: string
  with: string
  regex: boolean
  ignoreCase: boolean
  column: string
  separator: string
  into: string
  rows: string
  expression: string
}
export const newDraft = (step: string): StepDraft => ({
  ...{step, columns: [], find: '', with: '', regex: false, ignoreCase: false},
  ...{column: '', separator: ' ', into: '', rows: '', expression: ''},
})

export const makeStep = (draft: StepDraft): {step: CleaningStep} | {missing: string} => {
  const {step, columns} = draft
  const over = columns.length > 0 ? {columns} : {}
  switch (step) {
    case 'replace': {
      const {find, regex, ignoreCase} = draft
      return find ? {step: {step, ...over, find, with: draft.with, regex, ignoreCase}} : {missing: 'Say what is looked for'}
    }
    case 'fillDown':
      return columns.length > 0 ? {step: {step, columns}} : {missing: 'Choose the columns'}
    case 'strikeDuplicates':
      return columns.length > 0 ? {step: {step, columns, ignoreCase: draft.ignoreCase}} : {missing: 'Choose the columns that are compared'}
    case 'split':
      return makeSplit(draft)
    case 'strikeRows': {
      const rows = readRanges(draft.rows)
      return rows ? {step: {step, rows}} : {missing: 'Write row numbers and ranges, such as 3, 10-20'}
    }
    case 'strikeWhere':
      return draft.expression.trim() ? {step: {step, expression: draft.expression}} : {missing: 'Write an expression'}
    default:
      return {step: {step, ...over}}
  }
}

const makeSplit = ({step, column, separator, into}: StepDraft): {step: CleaningStep} | {missing: string} => {
  const names = into.split(',').map(name => name.trim())
  if (!column) return {missing: 'Choose the column that is split'}
  if (!separator) return {missing: 'Say what stands between the parts'}
  if (names.length < 2 || names.some(name => !name)) return {missing: 'Name two new columns or more, with commas between'}
  return {step: {step, column, separator, into: names}}
}

/** "3, 10-20" as ranges of rows; null where it is none. */
export const readRanges = (text: string): {from: number; to: number}[] | null => {
  const ranges = text.split(',').map(part => {
    const [, from, to = from] = /^\s*(\d{1,9})\s*(?:[-–]\s*(\d{1,9}))?\s*$/.exec(part) ?? []
    return {from: Number(from), to: Number(to)}
  })
  return ranges.every(({from, to}) => from >= 1 && to >= from) ? ranges : null
}

const listed = (columns: unknown): string => {
  const names = (columns ?? []) as string[]
  if (names.length === 0) return 'all columns'
  return names.length > 4 ? `${names.slice(0, 4).join(', ')} and ${names.length - 4} more` : names.join(', ')
}

/** A step in words: "Replace “;” with “,” in Notes". */
export const sayStep = (step: CleaningStep): string => {
  const {label} = kindOf(step.step)
  switch (step.step) {
    case 'replace':
      return `Replace ${step.regex ? 'what fits ' : ''}“${step.find}” with “${step.with}” in ${listed(step.columns)}`
    case 'split':
      return `Split ${step.column} at “${step.separator}” into ${(step.into as string[]).join(', ')}`
    case 'strikeRows': {
      const rows = (step.rows as {from: number; to: number}[]).map(({from, to}) => (from === to ? String(from) : `${from}–${to}`))
      return `Strike row${rows.length === 1 && !rows[0]!.includes('–') ? '' : 's'} ${rows.join(', ')}`
    }
    case 'strikeWhere':
      return `Strike rows where ${step.expression}`
    case 'strikeDuplicates':
      return `Strike rows that repeat one before in ${listed(step.columns)}`
    case 'strikeEmpty':
      return step.columns ? `Strike rows that are empty in ${listed(step.columns)}` : 'Strike empty rows'
    default:
      return `${label} in ${listed(step.columns)}`
  }
}

/** The steps with the one at `at` moved by one place up or down. */
export const moved = <T>(list: readonly T[], at: number, by: 1 | -1): T[] => {
  const next = [...list]
  const to = at + by
  if (to < 0 || to >= next.length) return next
  ;[next[at], next[to]] = [next[to]!, next[at]!]
  return next
}
