import {plural} from '../../ui/format.ts'
import type {t} from '../verification.ts'

const rowWords = (rows: number) => plural(rows, 'Zeile', 'Zeilen')
const patchWords = (patches: number) => plural(patches, 'Nachtrag', 'Nachträge')

export const verification: typeof t = {
  readBack: 'Aus dem CRM zurückgelesen',
  rowsReadBack: rows => `${plural(rows, 'geschriebene Zeile', 'geschriebene Zeilen')} zurückgelesen.`,
  allAsSent: 'Alle Werte sind wie gesendet.',
  rowsCoerced: rows => `${rowWords(rows)} mit Werten, die das CRM gekürzt oder umgewandelt hat.`,
  rowsChanged: rows => `${rowWords(rows)} mit Werten, die eine Person oder Automation seitdem geändert hat.`,
  rowsMissing: rows => `${rowWords(rows)}, deren Datensatz fehlt.`,
  rowsUnread: rows => `${rowWords(rows)}, die das CRM nicht gezeigt hat.`,
  rowsWaiting: rows => `${rowWords(rows)} noch zu lesen.`,
  rowsUnverified: rows => `${rowWords(rows)} nicht gelesen, weil der Lauf gestoppt wurde.`,
  patchesCoerced: patches => `${patchWords(patches)} mit Werten, die das CRM gekürzt oder umgewandelt hat.`,
  patchesChanged: patches => `${patchWords(patches)} mit Werten, die eine Person oder Automation seitdem geändert hat.`,
  field: 'Feld',
  asSent: 'Wie gesendet',
  truncated: 'Gekürzt',
  coerced: 'Umgewandelt',
  changed: 'Seitdem geändert',
  missing: 'Datensatz fehlt',
  firstDifferences: 'Erste Abweichungen',
  row: 'Zeile',
  found: 'Ergebnis',
  sent: 'Gesendet',
  read: 'Im CRM',
  empty: '(leer)',
  downloadVerifyCsv: 'Alle Abweichungen herunterladen',
}
