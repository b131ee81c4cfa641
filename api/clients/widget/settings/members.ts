import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, isAtLeast, may, me, type Role} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Closed} from '../ui/closed.ts'
import {Copy} from '../ui/copy.ts'
import {Confirm} from '../ui/dialog.ts'
import {Select, TextField} from '../ui/field.ts'
import {onDay, plural} from '../ui/format.ts'
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
  operator: 'imports and runs',
  builder: 'also templates and schedules',
  admin: 'also settings, connections and billing',
  owner: 'everything',
}

const followRule = 'Roles follow the CRM at each sign-in. A role set here, or by an invitation, is marked “manual” and stays.'

const nameOfRole = (role: Role) => `${role[0]!.toUpperCase()}${role.slice(1)}`

/** Returns the roles that a member may grant. No role is above the member's own. */
const rolesToGive = (labelOf: (role: Role) => string) =>
  (Object.keys(duties) as Role[]).filter(isAtLeast).map(value => ({value, label: labelOf(value)}))

export const Members = () => {
  const members = useLoad<Member[]>(async signal => (await client.get(inOrg('/members'), {}, signal)).members, [])
  const org = useLoad<{followsCrmRoles: boolean}>(async signal => (await client.get(inOrg(), {}, signal)).org, [])
  return html`
    <${SettingsFrame} title="Members" lead="The members of this organisation and their roles.">
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
    say(`${member.name} is now ${role}`)
    if (activeTokens > 0 && isLower(role, member.role)) setDemoted({...member, role, activeTokens})
    else again()
  })
  const mayChange = (member: Member) => may('admin', 'access') && isAtLeast(member.role) && member.personId !== me.value?.user.id
  const columns = [
    {head: 'Name', isName: true, cell: nameOf},
    {head: 'E-mail', cell: ({email}: Member) => email},
    {
      head: 'Role',
      cell: (member: Member) =>
        mayChange(member)
          ? html`<${Select} label=${`Role of ${member.name}`} isHidden value=${member.role} options=${rolesToGive(nameOfRole)} onChange=${(role: Role) => change.run(member, role)} />${mark(member)}`
          : html`${nameOfRole(member.role)}${mark(member)}`,
    },
    {head: 'Since', cell: ({createdAt}: Member) => onDay(createdAt)},
    {
      head: '',
      label: 'Actions',
      cell: (member: Member) =>
        mayChange(member) &&
        html`<${Button} kind="quiet" onClick=${() => setLeaving(member)}>Remove<span class="unseen"> ${member.name}</span><//>`,
    },
  ]
  return html`
    <${Problem} error=${change.error} />
    <${Table} caption="Members" columns=${columns} rows=${members} keyOf=${({id}: Member) => id} />
    ${demoted && html`<${RevokeTokens} member=${demoted} onClose=${endOffer} />`}
    ${
      leaving &&
      html`
        <${Confirm}
          title=${`Remove ${leaving.name}?`}
          action="Remove"
          isDangerous
          onClose=${() => setLeaving(null)}
          work=${async () => {
            await client.delete(inOrg(`/members/${leaving.id}`))
            say(`Removed ${leaving.name}`)
            again()
          }}
        >
          Their sessions and API tokens in this organisation end at once, and their schedules stop. Their imports and history stay.
        <//>
      `
    }
  `
}

type Demoted = Member & {activeTokens: number}

const isLower = (role: Role, than: Role) => Object.keys(duties).indexOf(role) < Object.keys(duties).indexOf(than)

const nameOf = ({name, personId}: Member) => html`${name}${personId === me.value?.user.id && html` <span class="quiet">(you)</span>`}`
const mark = ({roleSource}: Member) => roleSource === 'manual' && html` <${Pill}>manual<//>`

/** Offers, after a demotion, to revoke the member's API tokens, because these keep the admin role. */
const RevokeTokens = ({member: {id, name, role, activeTokens}, onClose}: {member: Demoted; onClose: () => void}) => html`
  <${Confirm}
    title=${`Revoke the API tokens of ${name}?`}
    action="Revoke tokens"
    isDangerous
    onClose=${onClose}
    work=${async () => {
      await client.patch(inOrg(`/members/${id}`), {role, revokeTokens: true})
      say(`Revoked the API tokens of ${name}`)
    }}
  >
    ${name} created ${plural(activeTokens, 'API token')} with the admin role. Programs stop working with a token that you revoke.
    ${` If you cancel, ${activeTokens === 1 ? 'the token keeps' : 'the tokens keep'} working. You can revoke tokens later under “API tokens”.`}
  <//>
`

/** Returns the address where an invited person signs in and accepts. It holds no secret: only the invited address can accept. */
const signInLink = () => `${location.origin}${location.pathname}`

const Invitations = () => {
  const invitations = useLoad<Invitation[]>(async signal => {
    const {invitations: all} = await client.get(inOrg('/invitations'), {}, signal)
    return (all as Invitation[]).filter(({state}) => state === 'pending' || state === 'expired')
  }, [])
  const withdraw = useDoing(async (id: string) => {
    await client.delete(inOrg(`/invitations/${id}`))
    say('Invitation withdrawn')
    invitations.again()
  })
  const columns = [
    {head: 'E-mail', isName: true, cell: ({email}: Invitation) => email},
    {head: 'Role', cell: ({role}: Invitation) => role},
    {
      head: 'Valid until',
      cell: ({expiresAt, state}: Invitation) =>
        html`${onDay(expiresAt)} ${state === 'expired' && html`<${Pill} tone="warning">expired<//>`}`,
    },
    {
      head: '',
      label: 'Actions',
      cell: ({id, email}: Invitation) =>
        may('admin', 'access') &&
        html`<${Button} kind="quiet" onClick=${() => withdraw.run(id)}>Withdraw<span class="unseen"> the invitation of ${email}</span><//>`,
    },
  ]
  return html`
    <h2>Invitations</h2>
    <${Problem} error=${withdraw.error} />
    <${Shown} of=${invitations}>
      ${(list: Invitation[]) =>
        list.length > 0 &&
        html`
          <${Table} caption="Invitations" columns=${columns} rows=${list} keyOf=${({id}: Invitation) => id} />
          <p class="hint">Invited people can also open this link. They sign in with the invited address and accept. <${Copy} text=${signInLink()} label="link" /></p>
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
    say(isMailed ? `Invited ${email} by e-mail` : `Invited ${email}. Send them the link below`)
    setEmail('')
    again()
  })
  const submit = (event: Event) => {
    event.preventDefault()
    doing.run()
  }
  return html`
    <form class="sheet settings-form" onSubmit=${submit}>
      <h3>Invite a member</h3>
      <${TextField} label="E-mail" hint="Their sign-in address at the CRM" type="email" required autocomplete="off" value=${email} onInput=${setEmail} />
      <${Select} label="Role" value=${role} options=${rolesToGive(role => `${nameOfRole(role)}: ${duties[role]}`)} onChange=${setRole} />
      <${Problem} error=${doing.error} />
      <${Button} kind="main" type="submit" isBusy=${doing.isBusy}>Invite<//>
    </form>
  `
}
