import {sayRowReason} from '../text/errors.ts'
import {t} from '../text/reading.ts'
import {t as reasonTexts} from '../text/reasons.ts'
import {sayName} from '../ui/labels.ts'
import type {CheckProblem} from './import.ts'

const severities = ['error', 'warning', 'info'] as const
type Severity = (typeof severities)[number]

export const describeProblemGroup = (severity: Severity, count: number): string => {
  if (severity === 'error') return t.errorCount(count)
  return severity === 'warning' ? t.warningCount(count) : t.noteCount(count)
}

export const groupsOf = (problems: readonly CheckProblem[]): {severity: Severity; problems: CheckProblem[]}[] =>
  severities.flatMap(severity => {
    const found = problems.filter(problem => problem.severity === severity)
    return found.length > 0 ? [{severity, problems: found}] : []
  })

type PlaceLabels = {sources: ReadonlyMap<string, string>; field: (module: string, field: string) => string}

/** Formats where a problem is: "leads.csv › column Mail › Leads › Email". */
export const sayPlace = ({source, column, module, field, place}: CheckProblem, labels: PlaceLabels): string =>
  [
    source && (labels.sources.get(source) ?? t.aDeletedFile),
    column && t.column(column),
    module && sayName(module),
    module && field && labels.field(module, field),
    place && t.lineColumnOfTheExpression(place.line, place.column),
  ]
    .filter(Boolean)
    .join(' › ')

const ofFiles = ['file_gone', 'source_missing', 'sheet', 'encoding', 'undecodable']

const fixes: Record<string, string> = {
  ambiguous: t.chooseHowToReadTheColumn,
  ambiguous_value: t.chooseHowToReadTheColumn,
  encoding: t.chooseTheEncoding,
  undecodable: t.acceptTheseBytesChooseAnother,
  not_in_picklist: t.matchTheWordsToOptionsCorrectThem,
  value_unmapped: t.addTheseValuesToTheValueMap,
  field_missing: t.mapAnotherField,
  module_missing: t.chooseAnotherModule,
  option_missing: t.chooseALayoutOrRule,
  duplicate_match: t.mergeTheseRows,
  empty: t.excludeOrFillSuchRows,
  ragged: t.correctTheDelimiter,
  quote: t.closeTheQuote,
}

/** Problems that also occur if the CRM got a field, module, layout or rule after its modules were last read. */
const ofDiscovery = ['field_missing', 'module_missing', 'option_missing']

/**
 * Describes how to fix a problem. The API's texts name options of the API, so some kinds of problems have a different text here. `isEmbedded`: the
 * page has no connections to refresh.
 */
export const sayFix = ({kind, fix}: Pick<CheckProblem, 'kind' | 'fix'>, isEmbedded = false): string => {
  const code = kind.toUpperCase()
  const translated = sayRowReason(code, null) === null ? null : reasonTexts.advice[code]
  const advice = fixes[kind] ?? translated ?? `${fix}.`
  return ofDiscovery.includes(kind) && !isEmbedded ? `${advice} ${t.ifItIsNewInTheCrm}` : advice
}

/** Returns the query parameters with which the match step shows the file or field to fix. */
export const fixQuery = ({kind, source, flow, field}: CheckProblem): Record<string, string> => {
  if (ofFiles.includes(kind)) return source ? {source} : {}
  return {...(flow && {flow}), ...(source && {source}), ...(field && {field})}
}
