import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {useLoad} from '../state/load.ts'
import {goIfHere, place, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/schedules.ts'
import {Notice, say} from '../ui/notice.ts'
import {Page, Shown} from '../ui/page.ts'
import {readConnections} from './schedule-connections.ts'
import {ScheduleForm} from './schedule-form.ts'
import type {Template} from './template.ts'

type Ground = {template: Template; connections: {id: string; name: string}[]}

/**
 * The page that creates a schedule. The schedule is on at once, unless the person tests the file first. `?repeat=weekly` preselects a weekly
 * schedule on today's weekday at 05:00.
 */
export const NewSchedule = ({params}: PageProps) => {
  const {id} = params as {id: string}
  const loaded = useLoad<Ground>(
    async signal => {
      const {template}: Json = await client.get(inOrg(`/templates/${id}`), {}, signal)
      return {template, connections: template.connectorId === null ? await readConnections(null, signal) : []}
    },
    [id],
  )
  const create = async (body: object, isTest: boolean) => {
    const goOn = goIfHere()
    const {schedule} = await client.post<Json>(inOrg(`/templates/${id}/schedules`), {...body, enabled: !isTest})
    say(isTest ? t.scheduleCreatedTurnedOff : t.scheduleCreated)
    goOn(to('templates', id, 'schedules', schedule.id, isTest ? {test: '1'} : {}))
  }
  const trail = [
    {label: t.templates, href: to('templates')},
    {label: loaded.data?.template.name ?? t.template, href: to('templates', id)},
  ]
  return html`
    <${Page} title=${t.newSchedule} trail=${trail} lead=${t.aScheduleFetchesAFileChecksIt}>
      ${
        may('builder')
          ? html`<${Shown} of=${loaded}>${({template, connections}: Ground) => html`<${ScheduleForm} schedule=${null} starts=${startsOf(template)} connections=${connections} save=${(body: object) => create(body, false)} saveForTest=${(body: object) => create(body, true)} />`}<//>`
          : html`<${Notice}>${t.onlyBuildersAndAdminsCanCreate}<//>`
      }
    <//>
  `
}

const startsOf = ({name}: Template) => ({
  name,
  ...(place.value.query.get('repeat') === 'weekly' && {cron: `0 5 * * ${new Date().getDay()}`}),
})
