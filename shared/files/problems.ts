import {type Choice, type Choices, dateOrderOf, decimalMarkOf} from './choices.ts'
import type {HeaderProposal} from './csv/header-row.ts'
import type {ExaminedFile} from './examine.ts'
import type {SniffedFile, XlsxSniffed} from './new-file.ts'
import type {ReaderOptions} from './reader.ts'
import {type TextFacts, type TextProblem, textProblems} from './text/text-problems.ts'

/**
 * `ambiguous`: a user must choose. `escaped`: quotes inside quoted cells have a backslash instead of being doubled. `lost`: cells contain U+FFFD, for
 * characters that were lost before the upload or invalid bytes. `uncalculated`: formulas have no saved value. `error`: cells have error values, such
 * as #N/A. `undated`: cells formatted as dates contain invalid numbers. `sheet`: the first visible sheet has no rows, so another sheet is read.
 * `quote`: cells may contain rows, because their quote is not closed.
 */
type ProblemKind =
  | 'ambiguous'
  | 'escaped'
  | 'lost'
  | 'ragged'
  | 'quote'
  | 'merged'
  | 'uncalculated'
  | 'error'
  | 'undated'
  | 'header'
  | 'sheet'
/** A problem of a source. `reader` has the reader options that solve the problem, if they are known. */
type Problem = {kind: ProblemKind | TextProblem['kind']; column: string | null; message: string; fix: string; reader?: ReaderOptions}

type Column = ExaminedFile['columns'][number]

export const problemsOf = ({columns, ragged, openQuotes, workbook, header, ...text}: SeenProblem, choices: Choices): Problem[] => [
  ...sheetProblems(text),
  ...('reader' in text ? textProblems(text) : []),
  ...(header ? [headerProblem(header)] : []),
  ...columns.flatMap(column => columnProblems(column, choices[column.name]).map(problem => ({column: column.name, ...problem}))),
  ...(ragged.count
    ? [
        {
          kind: 'ragged' as const,
          column: null,
          message: `${rows(ragged.count)} do not fit the header, the first is row ${ragged.firstRow}`,
          fix: 'These rows will fail. Correct the delimiter, set shortRows to fill if cells are only missing, or exclude the rows by a cleaning step',
        },
      ]
    : []),
  ...(openQuotes ? [quoteProblem(openQuotes)] : []),
  ...(workbook?.merged
    ? [
        {
          kind: 'merged' as const,
          column: null,
          message: `${workbook.merged} ranges of the sheet are merged. Only the first cell of each has the value`,
          fix: 'Add the cleaning step fillDown for the columns concerned, or unmerge them',
        },
      ]
    : []),
]

/** The facts about a file's text, such as its encoding, are checked only if `reader` is present. */
type SeenProblem = Pick<ExaminedFile, 'columns' | 'ragged' | 'openQuotes' | 'workbook' | 'header'> & {sniffed?: SniffedFile | undefined} & (
    | TextFacts
    | object
  )

const quoteProblem = ({count: found, firstRow}: NonNullable<ExaminedFile['openQuotes']>): Problem => ({
  kind: 'quote',
  column: null,
  reader: {openQuotes: 'keep'},
  message: `${rows(found)} may contain other rows, because the quote of a cell seems not to be closed. The first is row ${firstRow}`,
  fix: 'These rows will fail. Close or double the quote in the file, set quote to null if quotes mean nothing, or set openQuotes to keep if the cells are right',
})

const sheetProblems = ({sniffed}: {sniffed?: SniffedFile | undefined}): Problem[] =>
  sniffed && 'passed' in sniffed && sniffed.passed !== undefined ? [sheetProblem(sniffed, sniffed.passed)] : []

const sheetProblem = ({sheet, sheets}: XlsxSniffed, passed: string): Problem => {
  const visible = sheets.filter(({name, state}) => state === 'visible' && name !== sheet && name !== passed).map(({name}) => `"${name}"`)
  const others = visible.length ? `: ${visible.slice(0, 10).join(', ')}${visible.length > 10 ? ' and more' : ''}` : ''
  return {
    kind: 'sheet',
    column: null,
    message: `The first sheet "${passed}" has no rows, so the sheet "${sheet}" is read`,
    fix: `Check that this is the right sheet. Choose another one with reader {"sheet": …}${others}`,
  }
}

/** The message contains no cell values, because they may be personal data and messages are sent to the AI model. */
const headerProblem = ({reader}: HeaderProposal): Problem => ({
  kind: 'header',
  column: null,
  reader,
  message: 'The first row looks like a title, and a row below it looks like the header',
  fix: `Set reader ${JSON.stringify(reader)} to take that row as the header. Until then the file is read from its first row`,
})

type FoundProblem = Omit<Problem, 'column'>

const columnProblems = (column: Column, choice: Choice | undefined): FoundProblem[] =>
  [
    dateProblem(column, choice),
    yearProblem(column),
    markProblem(column, choice),
    scaledProblem(column, choice),
    digitsProblem(column, choice),
    escapedProblem(column),
    lostProblem(column),
    unsavedProblem(column),
    errorProblem(column),
    undatedProblem(column),
  ].filter(problem => problem !== null)

const valuesOf = ({kinds}: Column) => Object.values(kinds).reduce((sum, count) => sum + count, 0)

/** Returns whether at least half of a column's values are of these kinds. One date among prose makes no date column. */
const isMostly = (column: Column, ...kinds: (keyof Column['kinds'])[]) =>
  2 * kinds.reduce((sum, kind) => sum + (column.kinds[kind] ?? 0), 0) >= valuesOf(column)

const dateProblem = (column: Column, choice: Choice | undefined): FoundProblem | null => {
  const {dates} = column
  if (!isMostly(column, 'date') || dateOrderOf(column, choice)) return null
  const proved = (['dmy', 'mdy', 'ymd'] as const).filter(order => dates[order] > 0)
  if (!proved.length && !dates.ambiguous) return null
  return {
    kind: 'ambiguous',
    message:
      proved.length > 1
        ? `Some dates can only be read in the order ${proved.join(', others ')}`
        : `${count(dates.ambiguous, 'date')} can be read in several orders and no value shows which`,
    fix: `Choose an order: choices {"${column.name}": {"dateOrder": "dmy"}}, or mdy`,
  }
}

/** The format belongs to the mapping, so the problem remains after a person stated it. */
const yearProblem = (column: Column): FoundProblem | null =>
  column.shortYears && isMostly(column, 'date')
    ? {
        kind: 'ambiguous',
        message: `${count(column.shortYears, 'date')} with a year of two digits, which is read only with a date format`,
        fix: 'If all years have two digits, add a format such as dd/MM/yy or MM/dd/yy to the mapping. Otherwise correct the years in the file',
      }
    : null

const markProblem = (column: Column, choice: Choice | undefined): FoundProblem | null => {
  const {marks} = column
  const isOfNumbers = Boolean(column.amounts) || isMostly(column, 'integer', 'decimal')
  if (choice?.as === 'text' || !isOfNumbers || decimalMarkOf(column, choice)) return null
  const both = marks.point > 0 && marks.comma > 0
  if (!both && !marks.ambiguous) return null
  return {
    kind: 'ambiguous',
    message: both
      ? 'Some numbers have a decimal point, others a decimal comma'
      : `${count(marks.ambiguous, 'number')} such as 1,234 can be read in two ways and no value shows which`,
    fix: `Choose a mark: choices {"${column.name}": {"decimalMark": "point"}}, or comma`,
  }
}

const digitsProblem = (column: Column, choice: Choice | undefined): FoundProblem | null => {
  const {leadingZeros, beyond53, stored} = column
  const padded = choice?.numbers ? 0 : (stored?.padded ?? 0)
  if (choice?.as || !(padded || isMostly(column, 'integer', 'decimal'))) return null
  const losses = [
    leadingZeros &&
      leadingZeros.count > padded &&
      `${count(leadingZeros.count, 'value')} with leading zeros, the first in row ${leadingZeros.firstRow}`,
    beyond53 && `${count(beyond53.count, 'value')} with more digits than a number keeps, the first in row ${beyond53.firstRow}`,
    padded && `${count(padded, 'number')} displayed with zeros or signs that the file does not store`,
  ].filter(Boolean)
  if (!losses.length) return null
  return {
    kind: 'ambiguous',
    message: `Read as numbers, the column loses something: ${losses.join('; ')}`,
    fix: `Choose choices {"${column.name}": {"as": "text"}} to keep the cells as they are, or "number" to accept the loss`,
  }
}

/** The values of numbers displayed in thousands cannot show whether the displayed or the stored number is meant. */
const scaledProblem = (column: Column, choice: Choice | undefined): FoundProblem | null =>
  column.stored?.scaled && !choice?.numbers
    ? {
        kind: 'ambiguous',
        message: `${count(column.stored.scaled, 'number')} displayed in thousands or millions. The stored numbers are read`,
        fix: `Choose choices {"${column.name}": {"numbers": "stored"}} to keep the stored numbers, or "displayed" for the displayed ones`,
      }
    : null

const errorProblem = ({stored}: Column): FoundProblem | null =>
  stored?.error
    ? {
        kind: 'error',
        message: `${count(stored.error, 'cell')} with a spreadsheet error such as #N/A. Rows fail where the column is imported`,
        fix: 'Correct the cells, and send the workbook again. Or replace the errors by a cleaning step',
      }
    : null

const undatedProblem = ({stored}: Column): FoundProblem | null =>
  stored?.undated
    ? {
        kind: 'undated',
        message: `${count(stored.undated, 'cell')} formatted as dates or times hold numbers that are not valid ones. Their rows fail`,
        fix: 'Correct the cells or their number format, and send the workbook again. Or replace ######## by a cleaning step',
      }
    : null

const lostProblem = ({replaced}: Column): FoundProblem | null =>
  replaced && {
    kind: 'lost',
    message: `${count(replaced.count, 'cell')} with characters that were lost (\ufffd), the first in row ${replaced.firstRow}`,
    fix: 'Export the file again in the right encoding, or replace the characters by a cleaning step',
  }

/** A cell of a workbook can have such quotes on purpose. */
const escapedProblem = ({escapedQuotes, stored}: Column): FoundProblem | null =>
  escapedQuotes && !stored
    ? {
        kind: 'escaped',
        message: `${count(escapedQuotes.count, 'cell')} with quotes behind a backslash, read as text, the first in row ${escapedQuotes.firstRow}`,
        fix: 'Export the file again with doubled quotes, or correct the cells by a cleaning step',
      }
    : null

const unsavedProblem = ({stored}: Column): FoundProblem | null =>
  stored?.uncalculated
    ? {
        kind: 'uncalculated',
        message: `${count(stored.uncalculated, 'formula')} have no value in the file and are read as empty`,
        fix: 'Open the workbook in a spreadsheet program, let it calculate, save it and send it again',
      }
    : null

const count = (n: number, of: string) => `${n.toLocaleString('en')} ${of}${n === 1 ? '' : 's'}`
const rows = (n: number) => count(n, 'row')
