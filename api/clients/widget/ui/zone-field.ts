import {html} from '../html.ts'
import {currentLocale} from '../text/language.ts'
import {t} from '../text/shell.ts'
import {Select} from './field.ts'

type ZoneProps = {value: string; hint?: string; onChange: (zone: string) => void}

/** A select of time zones by region. Its hint shows the name and the current offset of the selected zone. */
export const ZoneField = ({value, hint, onChange}: ZoneProps) => {
  const zones = [...new Set([value, 'UTC', ...Intl.supportedValuesOf('timeZone')])].filter(Boolean)
  const described = [describeZone(value), hint].filter(Boolean).join('. ')
  return html`<${Select} label=${t.timeZone} hint=${described} required value=${value} options=${zones.map(optionOf)} onChange=${onChange} />`
}

const optionOf = (zone: string) => {
  const [region, ...place] = zone.split('/')
  return place.length === 0
    ? {value: zone, label: zone, group: t.generalZones}
    : {value: zone, label: place.join(', ').replaceAll('_', ' '), group: region!}
}

const describeZone = (zone: string): string => {
  try {
    const partOf = (timeZoneName: 'longGeneric' | 'shortOffset') =>
      new Intl.DateTimeFormat(currentLocale(), {timeZone: zone, timeZoneName})
        .formatToParts(new Date())
        .find(({type}) => type === 'timeZoneName')?.value
    return [partOf('longGeneric'), t.now(partOf('shortOffset'))].filter(part => !part?.startsWith('GMT')).join(', ')
  } catch {
    return ''
  }
}
