import {useState} from 'preact/hooks'
import {ApiError} from '../../http.ts'
import {useKept} from '../state/kept.ts'
import {type Doing, useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {plural} from '../ui/format.ts'
import {say} from '../ui/notice.ts'
import {type Issue, tidyFlow} from './flows.ts'
import type {Flow, Imported} from './import.ts'
import type {Known} from './known.ts'

/** `base`: the flows it began with, as JSON. */
type Kept = {flows: Flow[]; base: string}
export type Draft = {
  flows: Flow[]
  /** Columns somebody said go nowhere, by flow. */
  leftOut: Record<string, string[]>
  isChanged: boolean
  /** The import has other flows by now than those this draft began with. */
  isBehind: boolean
  issues: Issue[]
  set: (flows: Flow[]) => void
  leaveOut: (flow: string, columns: string[]) => void
  forget: () => void
  save: Doing<[]>
}

/** The flows as somebody edits them: kept over a reload until they are saved. What the server finds wrong with them stays until they are changed there. */
export const useDraft = ({import: found, again}: Known): Draft => {
  const [kept, setKept, forget] = useKept<Kept | null>(`mapping ${found.id}`, null)
  const [leftOut, setLeftOut] = useKept<Record<string, string[]>>(`left out ${found.id}`, {})
  const [issues, setIssues] = useState<Issue[]>([])
  const saved = JSON.stringify(found.flows)
  const {flows, base} = kept ?? {flows: found.flows, base: saved}
  const isChanged = JSON.stringify(flows) !== saved
  const save = useDoing(async () => {
    const refused = await putFlows(found, flows)
    // By somebody else, or by this person in another window: that is shown before it is replaced.
    if (refused === 'stale') {
      await again()
      return say('Not saved: the import was changed meanwhile')
    }
    setIssues(refused)
    if (refused.length > 0) return say(`Not saved: ${plural(refused.length, 'problem')}`)
    await again()
    forget()
    say('The mapping is saved')
  })
  return {
    ...{flows, leftOut, isChanged, issues, save},
    isBehind: isChanged && base !== saved,
    set: next => {
      setIssues(left(issues, flows, next))
      setKept({flows: next, base})
    },
    leaveOut: (flow, columns) => setLeftOut(before => ({...before, [flow]: columns})),
    forget: () => {
      setIssues([])
      forget()
    },
  }
}

/** What the server finds wrong with them; nothing when they are saved. `stale`: the import is not as it was read any more. */
const putFlows = async ({id, version}: Imported, flows: Flow[]): Promise<Issue[] | 'stale'> => {
  try {
    await client.put(inOrg(`/imports/${id}/flows`), flows.map(tidyFlow), {'if-match': `"${version}"`})
    return []
  } catch (error) {
    if (error instanceof ApiError && error.code === 'IMPORT_CONFLICT') return 'stale'
    if (error instanceof ApiError && Array.isArray(error.body?.issues)) return error.body.issues
    throw error
  }
}

/** Issues name places by number: they hold for the flows and mappings that are what and where they were. */
const left = (issues: Issue[], before: Flow[], after: Flow[]): Issue[] =>
  issues.filter(({path: [at, part, field]}) => {
    const [was, is] = [before[Number(at)], after[Number(at)]]
    if (was === is) return true
    return part === 'fields' && field !== undefined && was?.id === is?.id && was?.fields[Number(field)] === is?.fields[Number(field)]
  })
