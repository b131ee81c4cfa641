import type {CheckProblem} from './import.ts'

const severities = ['error', 'warning', 'info'] as const
type Severity = (typeof severities)[number]

export const sayGroup = (severity: Severity, count: number): string => {
  const one = count === 1
  if (severity === 'error') return one ? '1 problem: rows fail or are refused' : `${count} problems: rows fail or are refused`
  if (severity === 'warning') return one ? '1 warning: look at it' : `${count} warnings: look at them`
  return one ? '1 thing to know' : `${count} things to know`
}

/** Problems by severity, those without any left out. */
export const groupsOf = (problems: readonly CheckProblem[]): {severity: Severity; problems: CheckProblem[]}[] =>
  severities.flatMap(severity => {
    const found = problems.filter(problem => problem.severity === severity)
    return found.length > 0 ? [{severity, problems: found}] : []
  })

/** Where a problem stands: "leads.csv › E-Mail › Leads.Email". */
export const sayPlace = ({source, column, module, field, place}: CheckProblem, labels: ReadonlyMap<string, string>): string =>
  [
    source && (labels.get(source) ?? 'a file that is gone'),
    column && `column ${column}`,
    module && (field ? `${module}.${field}` : module),
    place && `line ${place.line}, column ${place.column} of the expression`,
  ]
    .filter(Boolean)
    .join(' › ')

const ofColumns = ['ambiguous', 'ambiguous_value', 'lost', 'ragged', 'merged', 'uncalculated', 'undated', 'header', 'struck', 'empty']
const ofFiles = ['file_gone', 'source_missing', 'sheet', 'encoding', 'undecodable']

const fixes: Record<string, string> = {
  ambiguous: 'Decide there how the column is read.',
  ambiguous_value: 'Decide there how the column is read.',
  encoding: 'Choose the encoding there.',
  undecodable: 'Accept these bytes there, choose another encoding, or send a corrected file.',
  not_in_picklist: 'Say which values the words stand for, correct them, or let them pass.',
}

/** What to do about it. The API says it to programs too, by the names of its own options. */
export const sayFix = ({kind, fix}: Pick<CheckProblem, 'kind' | 'fix'>): string => fixes[kind] ?? `${fix}.`

/** The page where a problem is mended, and what of it. */
export const mendAt = ({
  kind,
  source,
  flow,
  field,
}: CheckProblem): {step: 'files' | 'columns' | 'mapping'; query: Record<string, string>} => {
  if (ofFiles.includes(kind)) return {step: 'files', query: {}}
  if (ofColumns.includes(kind) || (!flow && source)) return {step: 'columns', query: source ? {source} : {}}
  return {step: 'mapping', query: {...(flow && {flow}), ...(field && {field})}}
}
