export type OrgNotices = {emails: string[]; endpoints: string[]; on: string[]}

export const runEnded = 'run.ended'

/** Adds an e-mail to this address when a run ends. Without recipients, the org lists all kinds, but the person asked only for this one. */
export const withRunEnded = ({emails, endpoints, on}: OrgNotices, email: string): OrgNotices => ({
  emails: [...new Set([...emails, email])],
  endpoints,
  on: emails.length + endpoints.length === 0 ? [runEnded] : [...new Set([...on, runEnded])],
})
