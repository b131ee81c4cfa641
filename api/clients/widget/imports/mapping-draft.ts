import {useRef, useState} from 'preact/hooks'
import {ApiError} from '../../http.ts'
import {useKept} from '../state/kept.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/mapping.ts'
import {say} from '../ui/notice.ts'
import {addCompleted, type Issue, sayIssue, tidyFlow} from './flows.ts'
import type {Flow, Imported} from './import.ts'
import type {LoadedImport} from './known.ts'

/** The edited flows before they are saved. `base`: the saved flows at the start of the edit, as JSON. Absent: the flows that are saved now. */
type StoredDraft = {flows: Flow[]; base?: string}
export type Draft = {
  flows: Flow[]
  isChanged: boolean
  /** True if the saved flows have changed since the edit started. */
  isBehind: boolean
  issues: Issue[]
  set: (flows: Flow[]) => void
  forget: () => void
  /**
   * Saves the flows. If the API refuses them, shows the reason and returns false. Returns false too if the flows were edited meanwhile. Throws other
   * errors.
   */
  save: () => Promise<boolean>
}

/** Returns the edited flows, which survive a reload until they are saved. An issue from the server stays until its flow or mapping changes. */
export const useDraft = ({import: found, again}: LoadedImport): Draft => {
  const [kept, setKept, forget] = useKept<StoredDraft | null>(`mapping ${found.id}`, null)
  const latest = useRef(kept)
  latest.current = kept
  const [issues, setIssues] = useState<Issue[]>([])
  const saved = JSON.stringify(found.flows)
  const {flows, base = saved} = kept ?? {flows: found.flows}
  const isChanged = JSON.stringify(flows) !== saved
  const save = async () => {
    const {refused, warnings, completed} = await putFlows(found, flows)
    // Another member or window changed the import. The person must see the new state before the draft can replace it.
    if (refused === 'stale') {
      await again()
      say(t.notSavedTheImportHasChangedCheck)
      return false
    }
    setIssues(refused)
    if (refused.length > 0) {
      say(t.notSavedProblems(refused.length))
      return false
    }
    await again()
    const newer = latest.current === kept ? null : latest.current
    if (newer) setKept({flows: addCompleted(newer.flows, {sent: flows, completed})})
    else forget()
    say([t.mappingSaved, ...warnings.map(sayIssue)].join('. '))
    return newer === null
  }
  return {
    flows,
    isChanged,
    issues,
    save,
    isBehind: isChanged && base !== saved,
    set: next => {
      setIssues(left(issues, flows, next))
      setKept({flows: next, base})
    },
    forget: () => {
      setIssues([])
      forget()
    },
  }
}

type SaveResult = {refused: Issue[] | 'stale'; warnings: Issue[]; completed: Flow[]}

/**
 * Saves the flows. `refused`: the issues, or `stale` if the import has changed. `warnings`: what a run of the saved flows leaves out. `completed`: the
 * saved flows, with the default mappings that the API added to new ones.
 */
const putFlows = async ({id, version}: Imported, flows: Flow[]): Promise<SaveResult> => {
  try {
    const {warnings = [], flows: completed} = await client.put(inOrg(`/imports/${id}/flows`), flows.map(tidyFlow), {
      'if-match': `"${version}"`,
    })
    return {refused: [], warnings, completed}
  } catch (error) {
    if (error instanceof ApiError && error.code === 'IMPORT_CONFLICT') return {refused: 'stale', warnings: [], completed: []}
    if (error instanceof ApiError && Array.isArray(error.body?.issues)) return {refused: error.body.issues, warnings: [], completed: []}
    throw error
  }
}

/**
 * Returns the issues of unchanged flows and mappings. Other issues are dropped, because their paths contain positions that the change may have
 * shifted.
 */
const left = (issues: Issue[], before: Flow[], after: Flow[]): Issue[] =>
  issues.filter(({path: [at, part, field]}) => {
    const [was, is] = [before[Number(at)], after[Number(at)]]
    if (was === is) return true
    return part === 'fields' && field !== undefined && was?.id === is?.id && was?.fields[Number(field)] === is?.fields[Number(field)]
  })
