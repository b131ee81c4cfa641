export type OrgNotices = {emails: string[]; endpoints: string[]; on: string[]}

export const runEnded = 'run.ended'

/**
 * Adds the address as a recipient of the notice that a run ended. An org without recipients lists all kinds of notices, but the person asked for
 * this kind only.
 */
export const withRunEnded = ({emails, endpoints, on}: OrgNotices, email: string): OrgNotices => ({
  emails: [...new Set([...emails, email])],
  endpoints,
  on: emails.length + endpoints.length === 0 ? [runEnded] : [...new Set([...on, runEnded])],
})
