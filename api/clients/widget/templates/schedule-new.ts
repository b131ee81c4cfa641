import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {goIfHere, to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {say} from '../ui/notice.ts'
import {Page} from '../ui/page.ts'
import {ScheduleForm} from './schedule-form.ts'

/** The page that creates a schedule. A new schedule is on at once. */
export const NewSchedule = ({params}: PageProps) => {
  const {id} = params as {id: string}
  const save = async (body: object) => {
    const goOn = goIfHere()
    const {schedule} = await client.post<Json>(inOrg(`/templates/${id}/schedules`), body)
    say('Schedule created')
    goOn(to('templates', id, 'schedules', schedule.id))
  }
  const trail = [
    {label: 'Templates', href: to('templates')},
    {label: 'Template', href: to('templates', id)},
  ]
  return html`
    <${Page} title="New schedule" trail=${trail} lead="A schedule fetches a file, checks it against the template and imports it. It acts with your permissions.">
      <${ScheduleForm} schedule=${null} save=${save} />
    <//>
  `
}
