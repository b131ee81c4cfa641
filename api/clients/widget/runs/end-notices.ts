import type {Run} from './run.ts'

export type OrgNotices = {emails: string[]; endpoints: string[]; on: string[]}
type EndKind = 'run.ended' | 'run.undone'

/** Returns the kind of notice that reports the end of the run. */
export const endKindOf = ({dryRun, undoOf}: Pick<Run, 'dryRun' | 'undoOf'>): EndKind => (undoOf && !dryRun ? 'run.undone' : 'run.ended')

/** Whether the address gets notices of this kind. */
export const isNotified = ({emails, on}: OrgNotices, email: string, kind: EndKind): boolean => on.includes(kind) && emails.includes(email)

/**
 * Adds the address as a recipient of the notices of this kind. An org without recipients lists all kinds of notices, but the person asked for
 * this kind only.
 */
export const withEndNotice = ({emails, endpoints, on}: OrgNotices, email: string, kind: EndKind): OrgNotices => ({
  emails: [...new Set([...emails, email])],
  endpoints,
  on: emails.length + endpoints.length === 0 ? [kind] : [...new Set([...on, kind])],
})
