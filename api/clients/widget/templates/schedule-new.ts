import type {Json} from '../../http.ts'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {goIfHere, to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {say} from '../ui/notice.ts'
import {Page} from '../ui/page.ts'
import {ScheduleForm} from './schedule-form.ts'

/** It is on as soon as it is made. */
export const NewSchedule = ({params}: PageProps) => {
  const {id} = params as {id: string}
  const save = async (body: object) => {
    const goOn = goIfHere()
    const {schedule} = await client.post<Json>(inOrg(`/templates/${id}/schedules`), body)
    say('The schedule is on')
    goOn(to('templates', id, 'schedules', schedule.id))
  }
  const trail = [
    {label: 'Templates', href: to('templates')},
    {label: 'Template', href: to('templates', id)},
  ]
  return html`
    <${Page} title="New schedule" trail=${trail} lead="It fetches the file by itself, holds it against the template, and imports it. It acts as you.">
      <${ScheduleForm} schedule=${null} save=${save} />
    <//>
  `
}
