import {html} from '../html.ts'
import {currentLocale} from '../text/language.ts'
import {t} from '../text/schedules.ts'
import {Check, Select, TextField} from '../ui/field.ts'
import {dayName, readCron, type Times, toCron, weekdays} from './cron-times.ts'

type FieldsProps = {times: Times; set: (times: Times) => void}

const repeats = [
  {value: 'daily', label: t.everyDay},
  {value: 'weekly', label: t.everyWeek},
  {value: 'monthly', label: t.everyMonth},
  {value: 'advanced', label: t.advancedCron},
]
const usualTime = '05:00'
const monthDays = [
  ...Array.from({length: 31}, (_, n) => ({value: String(n + 1), label: String(n + 1)})),
  {value: 'L', label: t.lastDayOfTheMonth},
]

export const TimesFields = ({times, set}: FieldsProps) => html`
  <${Select} label=${t.repeat} value=${times.repeat} options=${repeats} onChange=${(repeat: string) => set(changeRepeat(times, repeat as Times['repeat']))} />
  ${times.repeat === 'weekly' && html`<${Days} days=${times.days} set=${(days: number[]) => set({...times, days})} />`}
  ${times.repeat === 'monthly' && html`<${Select} label=${t.dayOfTheMonth} hint=${t.monthsWithoutThisDayAreLeftOut} value=${times.monthDay} options=${monthDays} onChange=${(monthDay: string) => set({...times, monthDay})} />`}
  ${
    times.repeat === 'advanced'
      ? html`<${TextField} label=${t.cron} hint=${t.minuteHourDayOfMonthMonthDay} required value=${times.cron} onInput=${(cron: string) => set({repeat: 'advanced', cron})} />`
      : html`<${TextField} label=${t.time} type="time" required value=${times.time} onInput=${(time: string) => set({...times, time})} />`
  }
`

/** Without a chosen day, the form shows an error, and `isWhole` prevents saving. */
const Days = ({days, set}: {days: number[]; set: (days: number[]) => void}) => html`
  <fieldset class="day-choice">
    <legend>${t.onDays}</legend>
    ${weekdays.map(
      day =>
        html`<${Check} label=${dayName(day, currentLocale())} checked=${days.includes(day)} onChange=${(ticked: boolean) => set(ticked ? [...days, day] : days.filter(one => one !== day))} />`,
    )}
    ${days.length === 0 && html`<p class="wrong" role="alert">${t.chooseAtLeastOneDay}</p>`}
  </fieldset>
`

const changeRepeat = (times: Times, repeat: Times['repeat']): Times => {
  if (repeat === 'advanced') return {repeat, cron: isWhole(times) ? toCron(times) : '0 5 * * *'}
  const known = times.repeat === 'advanced' ? readCron(times.cron) : times
  const time = known.repeat === 'advanced' ? usualTime : known.time
  if (repeat === 'weekly') return {repeat, time, days: known.repeat === 'weekly' ? known.days : [new Date().getDay()]}
  return repeat === 'monthly' ? {repeat, time, monthDay: known.repeat === 'monthly' ? known.monthDay : '1'} : {repeat, time}
}

/** Whether the times can be saved: a cron expression, or a time and, for weekly times, at least one day. */
export const isWhole = (times: Times): boolean =>
  times.repeat === 'advanced' ? times.cron.trim() !== '' : times.time !== '' && (times.repeat !== 'weekly' || times.days.length > 0)
