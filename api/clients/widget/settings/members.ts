import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, isAtLeast, may, me, type Role} from '../state/session.ts'
import {t} from '../text/settings.ts'
import {Button} from '../ui/button.ts'
import {Closed} from '../ui/closed.ts'
import {Copy} from '../ui/copy.ts'
import {Confirm} from '../ui/dialog.ts'
import {Select, TextField} from '../ui/field.ts'
import {onDay} from '../ui/format.ts'
import {sayRole} from '../ui/labels.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {Pill} from '../ui/pill.ts'
import {Table} from '../ui/table.ts'
import {SettingsFrame} from './frame.ts'

type Member = {
  id: string
  personId: string
  name: string
  email: string
  role: Role
  roleSource: 'manual' | 'crm'
  createdAt: string
}
type Invitation = {id: string; email: string; role: Role; state: 'pending' | 'expired' | 'withdrawn' | 'used'; expiresAt: string}

const duties: Record<Role, string> = {
  operator: t.importsAndRuns,
  builder: t.alsoTemplatesAndSchedules,
  admin: t.alsoSettingsConnectionsAndBilling,
  owner: t.everything,
}

const followRule = t.rolesFollowTheCrmAtEachSign

const nameOfRole = (role: Role) => {
  const name = sayRole(role)
  return `${name[0]!.toUpperCase()}${name.slice(1)}`
}

/** Returns the roles that the signed-in member may grant: up to the member's own role. */
const rolesToGive = (labelOf: (role: Role) => string) =>
  (Object.keys(duties) as Role[]).filter(isAtLeast).map(value => ({value, label: labelOf(value)}))

export const Members = () => {
  const members = useLoad<Member[]>(async signal => (await client.get(inOrg('/members'), {}, signal)).members, [])
  const org = useLoad<{followsCrmRoles: boolean}>(async signal => (await client.get(inOrg(), {}, signal)).org, [])
  return html`
    <${SettingsFrame} title=${t.members} lead=${t.theMembersOfThisOrganisationAnd}>
      <${Shown} of=${org}>${({followsCrmRoles}: {followsCrmRoles: boolean}) => followsCrmRoles && html`<${Notice}>${followRule}<//>`}<//>
      <${Shown} of=${members}>${(list: Member[]) => html`<${MemberTable} members=${list} again=${members.again} />`}<//>
      ${isAtLeast('admin') && html`<${Invitations} />`}
    <//>
  `
}

const MemberTable = ({members, again}: {members: Member[]; again: () => void}) => {
  const [leaving, setLeaving] = useState<Member | null>(null)
  const [demoted, setDemoted] = useState<Demoted | null>(null)
  const endOffer = () => {
    setDemoted(null)
    again()
  }
  const change = useDoing(async (member: Member, role: Role) => {
    const {activeTokens} = await client.patch(inOrg(`/members/${member.id}`), {role})
    say(t.isNow(member.name, sayRole(role)))
    if (activeTokens > 0 && isLower(role, member.role)) setDemoted({...member, role, activeTokens})
    else again()
  })
  const mayChange = (member: Member) => may('admin', 'access') && isAtLeast(member.role) && member.personId !== me.value?.user.id
  const columns = [
    {head: t.name, isName: true, cell: nameOf},
    {head: t.eMail, cell: ({email}: Member) => email},
    {
      head: t.role,
      cell: (member: Member) =>
        mayChange(member)
          ? html`<${Select} label=${t.roleOf(member.name)} isHidden value=${member.role} options=${rolesToGive(nameOfRole)} onChange=${(role: Role) => change.run(member, role)} />${mark(member)}`
          : html`${nameOfRole(member.role)}${mark(member)}`,
    },
    {head: t.since, cell: ({createdAt}: Member) => onDay(createdAt)},
    {
      head: '',
      label: t.actions,
      cell: (member: Member) =>
        mayChange(member) &&
        html`<${Button} kind="quiet" onClick=${() => setLeaving(member)}>${t.remove}<span class="unseen"> ${member.name}</span><//>`,
    },
  ]
  return html`
    <${Problem} error=${change.error} />
    <${Table} caption=${t.members} columns=${columns} rows=${members} keyOf=${({id}: Member) => id} />
    ${demoted && html`<${RevokeTokens} member=${demoted} onClose=${endOffer} />`}
    ${
      leaving &&
      html`
        <${Confirm}
          title=${t.removeQuestion(leaving.name)}
          action=${t.remove}
          isDangerous
          onClose=${() => setLeaving(null)}
          work=${async () => {
            await client.delete(inOrg(`/members/${leaving.id}`))
            say(t.removedNamed(leaving.name))
            again()
          }}
        >
          ${t.theirSessionsAndApiTokensInThis}
        <//>
      `
    }
  `
}

type Demoted = Member & {activeTokens: number}

const isLower = (role: Role, than: Role) => Object.keys(duties).indexOf(role) < Object.keys(duties).indexOf(than)

const nameOf = ({name, personId}: Member) => html`${name}${personId === me.value?.user.id && html` <span class="quiet">${t.you}</span>`}`
const mark = ({roleSource}: Member) => roleSource === 'manual' && html` <${Pill}>${t.manual}<//>`

/** After a demotion, offers to revoke the member's API tokens, because tokens keep the admin role. */
const RevokeTokens = ({member: {id, name, role, activeTokens}, onClose}: {member: Demoted; onClose: () => void}) => html`
  <${Confirm}
    title=${t.revokeTheApiTokensOf(name)}
    action=${t.revokeTokens}
    isDangerous
    onClose=${onClose}
    work=${async () => {
      await client.patch(inOrg(`/members/${id}`), {role, revokeTokens: true})
      say(t.revokedTheApiTokensOf(name))
    }}
  >
    ${t.createdApiTokensWithTheAdminRole(name, activeTokens)} ${t.ifYouCancelTokensWork(activeTokens)}
  <//>
`

/**
 * Returns the URL where an invited person signs in and accepts. The URL contains no secret, because only the invited e-mail address can accept.
 */
const signInLink = () => `${location.origin}${location.pathname}`

const Invitations = () => {
  const invitations = useLoad<Invitation[]>(async signal => {
    const {invitations: all} = await client.get(inOrg('/invitations'), {}, signal)
    return (all as Invitation[]).filter(({state}) => state === 'pending' || state === 'expired')
  }, [])
  const withdraw = useDoing(async (id: string) => {
    await client.delete(inOrg(`/invitations/${id}`))
    say(t.invitationWithdrawn)
    invitations.again()
  })
  const columns = [
    {head: t.eMail, isName: true, cell: ({email}: Invitation) => email},
    {head: t.role, cell: ({role}: Invitation) => sayRole(role)},
    {
      head: t.validUntil,
      cell: ({expiresAt, state}: Invitation) =>
        html`${onDay(expiresAt)} ${state === 'expired' && html`<${Pill} tone="warning">${t.expired}<//>`}`,
    },
    {
      head: '',
      label: t.actions,
      cell: ({id, email}: Invitation) =>
        may('admin', 'access') &&
        html`<${Button} kind="quiet" onClick=${() => withdraw.run(id)}>${t.withdraw}<span class="unseen"> ${t.theInvitationOf(email)}</span><//>`,
    },
  ]
  return html`
    <h2>${t.invitations}</h2>
    <${Problem} error=${withdraw.error} />
    <${Shown} of=${invitations}>
      ${(list: Invitation[]) =>
        list.length > 0 &&
        html`
          <${Table} caption=${t.invitations} columns=${columns} rows=${list} keyOf=${({id}: Invitation) => id} />
          <p class="hint">${t.invitedPeopleCanAlsoOpenThisLink} <${Copy} text=${signInLink()} label=${t.link} /></p>
        `}
    <//>
    ${may('admin', 'access') && html`<${Invite} again=${invitations.again} />`}
    <${Closed} role="admin" change="access" />
  `
}

const Invite = ({again}: {again: () => void}) => {
  const [email, setEmail] = useState('')
  const [role, setRole] = useState<string>('operator')
  const doing = useDoing(async () => {
    const {isMailed} = await client.post(inOrg('/invitations'), {email, role})
    say(isMailed ? t.invitedByEMail(email) : t.invitedSendThemTheLinkBelow(email))
    setEmail('')
    again()
  })
  const submit = (event: Event) => {
    event.preventDefault()
    doing.run()
  }
  return html`
    <form class="sheet settings-form" onSubmit=${submit}>
      <h3>${t.inviteAMember}</h3>
      <${TextField} label=${t.eMail} hint=${t.theirSignInAddressAtTheCrm} type="email" required autocomplete="off" value=${email} onInput=${setEmail} />
      <${Select} label=${t.role} value=${role} options=${rolesToGive(role => `${nameOfRole(role)}: ${duties[role]}`)} onChange=${setRole} />
      <${Problem} error=${doing.error} />
      <${Button} kind="main" type="submit" isBusy=${doing.isBusy}>${t.invite}<//>
    </form>
  `
}
