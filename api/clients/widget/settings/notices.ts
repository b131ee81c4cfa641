import {useState} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Check} from '../ui/field.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {SettingsFrame} from './frame.ts'
import {Webhooks} from './webhooks.ts'

type Rule = {emails: string[]; endpoints: string[]; on: string[]}
type Read = {notices: Rule; mail: {configured: boolean}; members: {email: string; name: string}[]; webhooks: Json[]}

/** What one may be told of, and what each is. */
export const kinds: Record<string, string> = {
  'run.ended': 'A run ended',
  'schedule.stopped': 'A schedule was turned off',
  'schedule.skipped': 'A schedule passed one time',
  'schedule.failed': 'A schedule failed',
  'schedule.drifted': 'A file or the CRM is not as a template has it',
  'webhook.disabled': 'A webhook was switched off',
  'usage.rows': 'Rows of the plan are used up to 50, 80, 100 %',
  'usage.credits': 'AI credits are used up to 50, 80, 100 %',
  'billing.payment_failed': 'A payment failed',
  'billing.action_required': 'A payment has to be confirmed',
  'billing.trial_ending': 'The trial is ending',
  'billing.topup_stopped': 'Topping up was switched off',
  'billing.refunded': 'Money was given back',
  'billing.disputed': 'A payment is disputed',
  'billing.plan_changed': 'The plan has changed',
}

/** Who is told of everything that happens here, by e-mail and by webhook. */
export const Notices = () => {
  const loaded = useLoad<Read>(async signal => {
    const paths = ['/notices', '/members', '/webhooks']
    const [notices, members, webhooks] = await Promise.all(paths.map(path => client.get<Json>(inOrg(path), {}, signal)))
    return {...notices, members: members.members, webhooks: webhooks.webhooks}
  }, [])
  return html`
    <${SettingsFrame} title="Notices" lead="Who is told of what happens: members by e-mail, programs by webhook.">
      <${Shown} of=${loaded}>
        ${(read: Read) => html`
          <${RuleForm} key=${JSON.stringify(read.notices)} read=${read} again=${loaded.again} />
          <${Webhooks} list=${read.webhooks} again=${loaded.again} />
        `}
      <//>
    <//>
  `
}

const RuleForm = ({read: {notices, mail, members, webhooks}, again}: {read: Read; again: () => void}) => {
  const [draft, setDraft] = useState<Rule>(notices)
  const save = useDoing(async () => {
    await client.put(inOrg('/notices'), draft)
    say('Kept')
    again()
  })
  const turn = (list: keyof Rule) => (value: string) => (isOn: boolean) =>
    setDraft({...draft, [list]: isOn ? [...draft[list], value] : draft[list].filter(one => one !== value)})
  const submit = (event: Event) => {
    event.preventDefault()
    save.run()
  }
  return html`
    <form class="sheet" onSubmit=${submit}>
      ${!mail.configured && html`<${Notice}>This installation sends no e-mail: whoever runs it sets SMTP_URL.<//>`}
      <fieldset class="bare columns" disabled=${!may('admin')}>
        <fieldset>
          <legend>Told of</legend>
          ${Object.entries(kinds).map(([kind, label]) => html`<${Check} key=${kind} label=${label} checked=${draft.on.includes(kind)} onChange=${turn('on')(kind)} />`)}
        </fieldset>
        <div>
          <fieldset disabled=${!mail.configured}>
            <legend>By e-mail</legend>
            ${members.map(({email, name}) => html`<${Check} key=${email} label=${`${name} (${email})`} checked=${draft.emails.includes(email)} onChange=${turn('emails')(email)} />`)}
          </fieldset>
          <fieldset>
            <legend>By webhook</legend>
            ${webhooks.length === 0 && html`<p class="hint">There is none yet: add one below.</p>`}
            ${webhooks.map(({id, url}) => html`<${Check} key=${id} label=${url} checked=${draft.endpoints.includes(id)} onChange=${turn('endpoints')(id)} />`)}
          </fieldset>
        </div>
      </fieldset>
      <${Problem} error=${save.error} />
      ${may('admin') && html`<${Button} kind="main" type="submit" isBusy=${save.isBusy}>Save<//>`}
    </form>
  `
}
