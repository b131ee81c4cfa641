import {useEffect} from 'preact/hooks'
import {html} from '../html.ts'
import {embed} from '../state/embed.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, may, me} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {Check} from '../ui/field.ts'
import {Problem} from '../ui/notice.ts'
import {endKindOf, isNotified, type OrgNotices, withEndNotice} from './end-notices.ts'
import type {Run} from './run.ts'

type Notices = {notices: OrgNotices; mail: {configured: boolean}}

/** The notice settings that an embed session shows instead of the org's. An embed token may not read settings and has no e-mail address. */
const notTold: Notices = {notices: {emails: [], endpoints: [], on: []}, mail: {configured: false}}

/**
 * Says that the run continues without the page, and whether an e-mail reports the end. Admins can turn the e-mail on here. Renders nothing for
 * dry runs and stopped runs.
 */
export const LeaveNotice = ({run}: {run: Run}) => {
  const kind = endKindOf(run)
  const loaded = useLoad<Notices>(async signal => (embed.value ? notTold : client.get(inOrg('/notices'), {}, signal)), [])
  const save = useDoing(async (address: string) => {
    // The page may have been open for hours, and the request replaces all recipients.
    const {notices} = await client.get<Notices>(inOrg('/notices'))
    await client.put(inOrg('/notices'), withEndNotice(notices, address, kind))
    loaded.again()
  })
  if (run.dryRun || run.stop) return null
  const email = me.value?.user.email ?? null
  const {notices, mail} = loaded.data ?? {}
  if (mail?.configured && notices && email !== null && isNotified(notices, email, kind))
    return html`<p class="hint">${t.youCanCloseThisPageWeWill(email)}</p>`
  return html`
    <p class="hint">${t.youCanCloseThisPageTheImport}</p>
    ${mail?.configured && email !== null && may('admin', 'access') && html`<${Check} label=${kind === 'run.undone' ? t.eMailWhenAnUndoEnds(email) : t.eMailWhenARunEnds(email)} checked=${false} onChange=${() => save.run(email)} />`}
    <${Problem} error=${save.error} />
  `
}

/** Shows the progress, such as "33 %", in the title of the browser tab. Null shows none. */
export const useProgressTitle = (said: string | null): void => {
  useEffect(() => {
    const before = document.title
    if (said !== null) document.title = `${said} · ${before}`
    return () => {
      if (said !== null && document.title === `${said} · ${before}`) document.title = before
    }
  }, [said])
}
