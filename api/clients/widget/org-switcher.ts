import {html} from './html.ts'
import {useDoing, useLoad} from './state/load.ts'
import {client, me, openSession} from './state/session.ts'
import {t} from './text/shell.ts'
import {Select} from './ui/field.ts'
import {sayRole} from './ui/labels.ts'
import {Problem} from './ui/notice.ts'

type ReachableOrg = {id: string; name: string; role: string}

/**
 * A person with several orgs uses this select to switch the org of every tab. Staff views have none. A failed load is not reported, because the page
 * works without the switcher.
 */
export const OrgSwitcher = () => {
  const {id: current, name} = me.value!.org!
  const orgs = useLoad<ReachableOrg[]>(async signal => (await client.get('/auth/orgs', {}, signal)).orgs, [current])
  const change = useDoing(async (org: string) => {
    await client.put('/auth/session/org', {org})
    await openSession()
  })
  if (me.value?.staffView || !orgs.data?.some(({id}) => id !== current)) return null
  const listed = orgs.data.map(({id, name, role}) => ({value: id, label: `${name} (${sayRole(role)})`}))
  // The list leaves closed orgs out, and the session may be in one.
  const options = listed.some(({value}) => value === current) ? listed : [{value: current, label: name}, ...listed]
  return html`
    <${Select} label=${t.organisation} value=${current} onChange=${(org: string) => change.run(org)} options=${options} />
    <${Problem} error=${change.error} title=${t.couldNotSwitch} />
  `
}
