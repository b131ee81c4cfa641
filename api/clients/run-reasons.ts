import type {Client} from './http.ts'

/** Rows of a run with the same outcome and reason, in one module of one file. */
export type Group = {
  source: string
  module: string
  moduleLabel: string
  phase: 'write' | 'patch' | 'match' | 'lookup' | 'tag' | 'edit'
  outcome: string
  action: string | null
  code: string | null
  field: string | null
  fieldLabel: string | null
  /** Whether the rows were written without the link in `field`. */
  linkEmpty: boolean
  rows: number
  firstRow: number
  message: string | null
}

const nameOf = ({source, module, phase, outcome, action, code, field, linkEmpty}: Group) =>
  JSON.stringify([source, module, phase, outcome, action, code, field, linkEmpty])

/** Merges groups of several pages or files, and sorts them by size, largest first. */
export const mergeGroups = (before: Group[], more: Group[]): Group[] => {
  const merged = new Map(before.map(group => [nameOf(group), group]))
  for (const group of more) {
    const known = merged.get(nameOf(group))
    merged.set(nameOf(group), known ? {...known, rows: known.rows + group.rows} : group)
  }
  return [...merged.values()].toSorted((a, b) => b.rows - a.rows)
}

const problems = new Set(['failed', 'refused', 'unanswered'])

/** Returns how many written records lack their tags, because the CRM refused them or did not answer. */
export const missingTagsOf = (groups: readonly Group[]): number =>
  groups.reduce((sum, {phase, outcome, rows}) => sum + (phase === 'tag' && problems.has(outcome) ? rows : 0), 0)

/**
 * Returns why rows were not written or only partly written, most frequent reason first. Includes skipped rows with a code, such as rows that wait
 * for an answer. Leaves out unchanged rows.
 */
export const reasonsOf = (groups: Group[]): Group[] =>
  groups
    .filter(({outcome, code}) => problems.has(outcome) || (outcome === 'skipped' && code !== null && code !== 'UNCHANGED'))
    .toSorted((a, b) => b.rows - a.rows)

export type RunSource = {id: string; label: string; rows: number}
type TallyPage = {sources: RunSource[]; source: string; groups: Omit<Group, 'source'>[]; nextCursor: string | null}
export type CountedRows = {groups: Group[]; sources: RunSource[]; isWhole: boolean}

/**
 * Counts the rows of a run by outcome and reason, over all files. `path`: the path of the run. `tell` receives the counts so far after each
 * page.
 */
export const countRows = async (client: Client, path: string, signal: AbortSignal, tell: (counted: CountedRows) => void = () => {}) => {
  let counted: CountedRows = {groups: [], sources: [], isWhole: false}
  for (let at = 0; at === 0 || at < counted.sources.length; at++) {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page: TallyPage = await client.get(`${path}/rows/tally`, {source: counted.sources[at]?.id, cursor}, signal)
      const {sources, source} = page
      const groups = mergeGroups(
        counted.groups,
        page.groups.map(group => ({...group, source})),
      )
      cursor = page.nextCursor
      counted = {groups, sources, isWhole: cursor === null && at >= sources.length - 1}
      if (!signal.aborted) tell(counted)
    }
  }
  return counted
}
