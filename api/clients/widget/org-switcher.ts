import {html} from './html.ts'
import {useDoing, useLoad} from './state/load.ts'
import {client, me, openSession} from './state/session.ts'
import {t} from './text/shell.ts'
import {Select} from './ui/field.ts'
import {sayRole} from './ui/labels.ts'
import {Problem} from './ui/notice.ts'

type ReachableOrg = {id: string; name: string; role: string}

/**
 * A select by which a person with two or more orgs switches the org in every tab. Staff views have none. A failed load is not reported, because
 * the page works without the switcher.
 */
export const OrgSwitcher = () => {
  const current = me.value!.org!.id
  const orgs = useLoad<ReachableOrg[]>(async signal => (await client.get('/auth/orgs', {}, signal)).orgs, [current])
  const change = useDoing(async (org: string) => {
    await client.put('/auth/session/org', {org})
    await openSession()
  })
  if (me.value?.staffView || (orgs.data?.length ?? 0) < 2) return null
  return html`
    <${Select} label=${t.organisation} value=${current} onChange=${(org: string) => change.run(org)} options=${orgs.data!.map(({id, name, role}) => ({value: id, label: `${name} (${sayRole(role)})`}))} />
    <${Problem} error=${change.error} title=${t.couldNotSwitch} />
  `
}
