import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {SaveActions, useDraft} from '../ui/draft.ts'
import {Check} from '../ui/field.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {SettingsFrame} from './frame.ts'
import {Webhooks} from './webhooks.ts'

type Rule = {emails: string[]; endpoints: string[]; on: string[]}
type NoticesInput = {notices: Rule; mail: {configured: boolean}; members: {email: string; name: string}[]; webhooks: Json[]}

/** Kinds of notices and their labels. */
export const kinds: Record<string, string> = {
  'run.ended': 'A run ended',
  'run.undone': 'A run was undone',
  'run.held': 'A run is held by its guard',
  'schedule.stopped': 'A schedule was turned off',
  'schedule.skipped': 'A schedule skipped a run',
  'schedule.failed': 'A schedule failed',
  'schedule.drifted': 'A file or the CRM no longer matches a template',
  'webhook.disabled': 'A webhook was disabled',
  'usage.rows': '50, 80 or 100 % of the plan’s rows are used',
  'usage.credits': '50, 80 or 100 % of the AI credits are used',
  'billing.payment_failed': 'A payment failed',
  'billing.action_required': 'A payment needs confirmation',
  'billing.trial_ending': 'The trial is ending',
  'billing.topup_stopped': 'Automatic top-up was turned off',
  'billing.refunded': 'A payment was refunded',
  'billing.disputed': 'A payment is disputed',
  'billing.plan_changed': 'The plan has changed',
}

/** Recipients of notices, by e-mail and webhook. */
export const Notices = () => {
  const loaded = useLoad<NoticesInput>(async signal => {
    const paths = ['/notices', '/members', '/webhooks']
    const [notices, members, webhooks] = await Promise.all(paths.map(path => client.get<Json>(inOrg(path), {}, signal)))
    return {...notices, members: members.members, webhooks: webhooks.webhooks}
  }, [])
  return html`
    <${SettingsFrame} title="Notices" lead="Send notices to members by e-mail and to programs by webhook.">
      <${Shown} of=${loaded}>
        ${(read: NoticesInput) => html`
          <${RuleForm} key=${JSON.stringify(read.notices)} read=${read} again=${loaded.again} />
          <${Webhooks} list=${read.webhooks} again=${loaded.again} />
        `}
      <//>
    <//>
  `
}

const RuleForm = ({read: {notices, mail, members, webhooks}, again}: {read: NoticesInput; again: () => void}) => {
  const form = useDraft<Rule>(notices)
  const {draft} = form
  const save = useDoing(async () => {
    await client.put(inOrg('/notices'), draft)
    say('Notices saved')
    again()
  })
  const turn = (list: keyof Rule) => (value: string) => (isOn: boolean) =>
    form.set({[list]: isOn ? [...draft[list], value] : draft[list].filter(one => one !== value)})
  const submit = (event: Event) => {
    event.preventDefault()
    save.run()
  }
  return html`
    <form class="sheet" onSubmit=${submit}>
      ${!mail.configured && html`<${Notice}>E-mail is not set up. The operator sets SMTP_URL.<//>`}
      <fieldset class="bare columns" disabled=${!may('admin')}>
        <fieldset>
          <legend>Events</legend>
          ${Object.entries(kinds).map(([kind, label]) => html`<${Check} key=${kind} label=${label} checked=${draft.on.includes(kind)} onChange=${turn('on')(kind)} />`)}
        </fieldset>
        <div>
          <fieldset disabled=${!mail.configured}>
            <legend>E-mail recipients</legend>
            ${members.map(({email, name}) => html`<${Check} key=${email} label=${`${name} (${email})`} checked=${draft.emails.includes(email)} onChange=${turn('emails')(email)} />`)}
          </fieldset>
          <fieldset>
            <legend>Webhooks</legend>
            ${webhooks.length === 0 && html`<p class="hint">No webhooks yet. Add one below.</p>`}
            ${webhooks.map(({id, url}) => html`<${Check} key=${id} label=${url} checked=${draft.endpoints.includes(id)} onChange=${turn('endpoints')(id)} />`)}
          </fieldset>
        </div>
      </fieldset>
      <${Problem} error=${save.error} />
      ${may('admin') && html`<${SaveActions} of=${form} isBusy=${save.isBusy} />`}
    </form>
  `
}
