import {t} from '../text/reading.ts'
import type {CleaningStep} from './import.ts'

/** An input of the form for a cleaning step. `asks` lists the inputs of a kind of step. */
type Ask = 'columns' | 'someColumns' | 'replace' | 'split' | 'rows' | 'expression' | 'ignoreCase'
export type StepKind = {step: string; label: string; group: string; asks: Ask[]}

export const stepKinds: StepKind[] = [
  {step: 'trim', label: t.trimSpaces, group: t.changeCells, asks: ['columns']},
  {step: 'collapseSpaces', label: t.collapseMultipleSpaces, group: t.changeCells, asks: ['columns']},
  {step: 'replace', label: t.replaceTextStep, group: t.changeCells, asks: ['replace', 'columns']},
  {step: 'fillDown', label: t.fillEmptyCellsFromAbove, group: t.changeCells, asks: ['someColumns']},
  {step: 'split', label: t.splitAColumn, group: t.changeCells, asks: ['split']},
  {step: 'strikeEmpty', label: t.excludeEmptyRows, group: t.excludeRowsGroup, asks: ['columns']},
  {step: 'strikeDuplicates', label: t.excludeDuplicateRows, group: t.excludeRowsGroup, asks: ['someColumns', 'ignoreCase']},
  {step: 'strikeRows', label: t.excludeRowsByNumber, group: t.excludeRowsGroup, asks: ['rows']},
  {step: 'strikeWhere', label: t.excludeRowsByExpression, group: t.excludeRowsGroup, asks: ['expression']},
]

export const kindOf = (step: string): StepKind => stepKinds.find(kind => kind.step === step) ?? {step, label: step, group: '', asks: []}

/** The typed values of a cleaning step. `makeStep` converts them to a step, or says what is missing. */
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
  step,
  columns: [],
  find: '',
  with: '',
  regex: false,
  ignoreCase: false,
  column: '',
  separator: ' ',
  into: '',
  rows: '',
  expression: '',
})

export const makeStep = (draft: StepDraft): {step: CleaningStep} | {missing: string} => {
  const {step, columns} = draft
  const over = columns.length > 0 ? {columns} : {}
  switch (step) {
    case 'replace': {
      const {find, regex, ignoreCase} = draft
      return find ? {step: {step, ...over, find, with: draft.with, regex, ignoreCase}} : {missing: t.enterTheTextToFind}
    }
    case 'fillDown':
      return columns.length > 0 ? {step: {step, columns}} : {missing: t.chooseTheColumns}
    case 'strikeDuplicates':
      return columns.length > 0 ? {step: {step, columns, ignoreCase: draft.ignoreCase}} : {missing: t.chooseTheColumnsToCompare}
    case 'split':
      return makeSplit(draft)
    case 'strikeRows': {
      const rows = readRanges(draft.rows)
      return rows ? {step: {step, rows}} : {missing: t.enterRowNumbersOrRangesSuchAs}
    }
    case 'strikeWhere':
      return draft.expression.trim() ? {step: {step, expression: draft.expression}} : {missing: t.enterAnExpression}
    default:
      return {step: {step, ...over}}
  }
}

const makeSplit = ({step, column, separator, into}: StepDraft): {step: CleaningStep} | {missing: string} => {
  const names = into.split(',').map(name => name.trim())
  if (!column) return {missing: t.chooseTheColumnToSplit}
  if (!separator) return {missing: t.enterTheSeparator}
  if (names.length < 2 || names.some(name => !name)) return {missing: t.enterAtLeastTwoColumnNames}
  return {step: {step, column, separator, into: names}}
}

/** Parses ranges of rows such as "3, 10-20". Returns null for invalid texts. */
export const readRanges = (text: string): {from: number; to: number}[] | null => {
  const ranges = text.split(',').map(part => {
    const [, from, to = from] = /^\s*(\d{1,9})\s*(?:[-–]\s*(\d{1,9}))?\s*$/.exec(part) ?? []
    return {from: Number(from), to: Number(to)}
  })
  return ranges.every(({from, to}) => from >= 1 && to >= from) ? ranges : null
}

const listed = (columns: unknown): string => {
  const names = (columns ?? []) as string[]
  if (names.length === 0) return t.allColumns
  return names.length > 4 ? t.andMore(names.slice(0, 4).join(', '), names.length - 4) : names.join(', ')
}

/** Describes a step in words: "Replace “;” with “,” in Notes". */
export const sayStep = (step: CleaningStep): string => {
  const {label} = kindOf(step.step)
  switch (step.step) {
    case 'replace':
      return (step.regex ? t.replaceMatches : t.replaceText)(step.find as string, step.with as string, listed(step.columns))
    case 'split':
      return t.splitAtInto(step.column as string, step.separator as string, (step.into as string[]).join(', '))
    case 'strikeRows': {
      const rows = (step.rows as {from: number; to: number}[]).map(({from, to}) => (from === to ? String(from) : `${from}–${to}`))
      return (rows.length === 1 && !rows[0]!.includes('–') ? t.excludeRow : t.excludeRows)(rows.join(', '))
    }
    case 'editCells':
      return t.cellsEditedByHand((step.cells as unknown[]).length)
    case 'strikeWhere':
      return t.excludeRowsWhere(step.expression as string)
    case 'strikeDuplicates':
      return t.excludeRowsThatRepeatAnEarlierOne(listed(step.columns))
    case 'strikeEmpty':
      return step.columns ? t.excludeRowsThatAreEmptyIn(listed(step.columns)) : t.excludeEmptyRows
    default:
      return t.stepInColumns(label, listed(step.columns))
  }
}

/** Returns a copy of the list with the item at `at` moved up or down by one position. At the ends of the list, nothing moves. */
export const moved = <T>(list: readonly T[], at: number, by: 1 | -1): T[] => {
  const next = [...list]
  const to = at + by
  if (to < 0 || to >= next.length) return next
  ;[next[at], next[to]] = [next[to]!, next[at]!]
  return next
}
