import {html} from './html.ts'
import {useDoing, useLoad} from './state/load.ts'
import {client, me, renewSession} from './state/session.ts'
import {t} from './text/shell.ts'
import {Button} from './ui/button.ts'
import {sayRole} from './ui/labels.ts'
import {Notice, Problem, say} from './ui/notice.ts'

type ReceivedInvitation = {id: string; org: {id: string; name: string}; role: string}

/** Loads the person's invitations. Accepting an invitation moves the session to the inviting org. */
export const useReceivedInvitations = () => {
  const received = useLoad<ReceivedInvitation[]>(
    async signal => (await client.get<{invitations: ReceivedInvitation[]}>('/auth/invitations', {}, signal)).invitations,
    [],
  )
  const accept = useDoing(async ({id, org, role}: ReceivedInvitation) => {
    await client.post(`/auth/invitations/${id}/accept`)
    await renewSession()
    say(t.youAreOf(sayRole(role), org.name))
    received.again()
  })
  return {received, accept}
}

type ListProps = {invitations: ReceivedInvitation[]; accept: ReturnType<typeof useReceivedInvitations>['accept']}

export const ReceivedInvitations = ({invitations, accept}: ListProps) => html`
  <ul class="plain">
    ${invitations.map(one => html`<li key=${one.id} class="row"><span class="grow"><strong>${one.org.name}</strong> ${t.invitesYouAs(sayRole(one.role))}</span> <${Button} kind="main" isBusy=${accept.isBusy} onClick=${() => accept.run(one)}>${t.acceptAction}<span class="unseen"> ${t.acceptWhat(one.org.name)}</span><//></li>`)}
  </ul>
  <${Problem} error=${accept.error} title=${t.couldNotAcceptTheInvitation} />
`

/**
 * Shows received invitations above the page, except in staff views. A failed load is not reported, because the page works without the banner.
 */
export const InvitationBanner = () => {
  const {received, accept} = useReceivedInvitations()
  if (!received.data?.length || me.value?.staffView) return null
  const isHere = received.data.every(({org}) => org.id === me.value?.org?.id)
  return html`
    <${Notice} title=${t.youAreInvited}>
      ${!isHere && html`<p>${t.acceptingChangesOrg}</p>`}
      <${ReceivedInvitations} invitations=${received.data} accept=${accept} />
    <//>
  `
}
