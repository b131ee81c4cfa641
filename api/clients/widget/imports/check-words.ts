import {sayName} from '../ui/labels.ts'
import type {CheckProblem} from './import.ts'

const severities = ['error', 'warning', 'info'] as const
type Severity = (typeof severities)[number]

export const describeProblemGroup = (severity: Severity, count: number): string => {
  const one = count === 1
  if (severity === 'error') return one ? '1 error: rows will fail' : `${count} errors: rows will fail`
  if (severity === 'warning') return one ? '1 warning' : `${count} warnings`
  return one ? '1 note' : `${count} notes`
}

/** Groups problems by severity. Groups without problems are omitted. */
export const groupsOf = (problems: readonly CheckProblem[]): {severity: Severity; problems: CheckProblem[]}[] =>
  severities.flatMap(severity => {
    const found = problems.filter(problem => problem.severity === severity)
    return found.length > 0 ? [{severity, problems: found}] : []
  })

type PlaceLabels = {sources: ReadonlyMap<string, string>; field: (module: string, field: string) => string}

/** Formats the place of a problem: "leads.csv › column Mail › Leads › Email". */
export const sayPlace = ({source, column, module, field, place}: CheckProblem, labels: PlaceLabels): string =>
  [
    source && (labels.sources.get(source) ?? 'a deleted file'),
    column && `column ${column}`,
    module && sayName(module),
    module && field && labels.field(module, field),
    place && `line ${place.line}, column ${place.column} of the expression`,
  ]
    .filter(Boolean)
    .join(' › ')

const ofFiles = ['file_gone', 'source_missing', 'sheet', 'encoding', 'undecodable']

const fixes: Record<string, string> = {
  ambiguous: 'Choose how to read the column.',
  ambiguous_value: 'Choose how to read the column.',
  encoding: 'Choose the encoding.',
  undecodable: 'Accept these bytes, choose another encoding, or upload a corrected file.',
  not_in_picklist: 'Match the words to options, correct them, or allow other values.',
  value_unmapped: 'Add these values to the value map, or choose what happens to other values.',
}

/** Describes how to fix a problem. The API's texts name options of the API, so some kinds have a text of their own here. */
export const sayFix = ({kind, fix}: Pick<CheckProblem, 'kind' | 'fix'>): string => fixes[kind] ?? `${fix}.`

/** Returns the address in the match step where a person can fix the problem, as a query. */
export const mendAt = ({kind, source, flow, field}: CheckProblem): Record<string, string> => {
  if (ofFiles.includes(kind)) return source ? {source} : {}
  return {...(flow && {flow}), ...(source && {source}), ...(field && {field})}
}
