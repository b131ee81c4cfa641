import {useEffect} from 'preact/hooks'
import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/notices.ts'
import {Closed} from '../ui/closed.ts'
import {SaveActions, useDraft} from '../ui/draft.ts'
import {Check} from '../ui/field.ts'
import {Notice, Problem, say} from '../ui/notice.ts'
import {Shown} from '../ui/page.ts'
import {SettingsFrame} from './frame.ts'
import {kinds} from './notice-kinds.ts'
import {Webhooks} from './webhooks.ts'

type Rule = {emails: string[]; endpoints: string[]; on: string[]}
type NoticesInput = {notices: Rule; mail: {configured: boolean}; members: {email: string; name: string}[]; webhooks: Json[]}

export const Notices = () => {
  const loaded = useLoad<NoticesInput>(async signal => {
    const paths = ['/notices', '/members', '/webhooks']
    const [notices, members, webhooks] = await Promise.all(paths.map(path => client.get<Json>(inOrg(path), {}, signal)))
    return {...notices, members: members.members, webhooks: webhooks.webhooks}
  }, [])
  return html`
    <${SettingsFrame} title=${t.notices} lead=${t.sendNoticesToMembersByEMail}>
      <${Shown} of=${loaded}>
        ${(read: NoticesInput) => html`
          <${RuleForm} read=${read} again=${loaded.again} />
          <${Webhooks} list=${read.webhooks} again=${loaded.again} />
        `}
      <//>
    <//>
  `
}

const RuleForm = ({read: {notices, mail, members, webhooks}, again}: {read: NoticesInput; again: () => void}) => {
  const form = useDraft<Rule>(notices)
  const {draft} = form
  // A removed webhook leaves the unsaved changes too, because the API refuses unknown webhooks.
  useEffect(() => form.set({endpoints: draft.endpoints.filter(one => webhooks.some(({id}) => id === one))}), [webhooks])
  const save = useDoing(async () => {
    form.keepSaved((await client.put<NoticesInput>(inOrg('/notices'), draft)).notices)
    say(t.noticesSaved)
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
      ${!mail.configured && html`<${Notice}>${t.eMailIsNotSetUpThe}<//>`}
      <fieldset class="bare columns" disabled=${!may('admin', 'access')}>
        <fieldset>
          <legend>${t.events}</legend>
          ${Object.entries(kinds).map(([kind, label]) => html`<${Check} key=${kind} label=${label} checked=${draft.on.includes(kind)} onChange=${turn('on')(kind)} />`)}
        </fieldset>
        <div>
          <fieldset disabled=${!mail.configured}>
            <legend>${t.eMailRecipients}</legend>
            ${members.map(({email, name}) => html`<${Check} key=${email} label=${`${name} (${email})`} checked=${draft.emails.includes(email)} onChange=${turn('emails')(email)} />`)}
          </fieldset>
          <fieldset>
            <legend>${t.webhooks}</legend>
            ${webhooks.length === 0 && html`<p class="hint">${t.noWebhooksYetAddOneBelow}</p>`}
            ${webhooks.map(({id, url}) => html`<${Check} key=${id} label=${url} checked=${draft.endpoints.includes(id)} onChange=${turn('endpoints')(id)} />`)}
          </fieldset>
        </div>
      </fieldset>
      <${Problem} error=${save.error} />
      ${may('admin', 'access') && html`<${SaveActions} of=${form} isBusy=${save.isBusy} />`}
      <${Closed} role="admin" change="access" />
    </form>
  `
}
