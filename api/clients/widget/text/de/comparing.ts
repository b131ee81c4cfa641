import type {t} from '../comparing.ts'

export const comparing: typeof t = {
  compareWithTheCrm: 'Geschriebene Zeilen mit dem CRM vergleichen',
  rowsToCompare: 'Zu vergleichende Zeilen',
  comparesWhatTheCrmStored:
    'Liest geschriebene Datensätze erneut und meldet Werte, die das CRM gekürzt, umgewandelt oder geändert hat. Kostet mindestens einen CRM-Aufruf je hundert verglichene Zeilen.',
  verifyModes: {
    inherited: 'Wie in der Vorlage festgelegt',
    off: 'Keine',
    sample: 'Eine Stichprobe: die ersten 100 Zeilen jeder Zuordnung und eine von 20 der übrigen',
    all: 'Alle geschriebenen Zeilen',
  },
  appliesToRuns: 'Gilt für Importe und Zeitpläne dieser Vorlage, wenn sie nichts anderes festlegen.',
  comparisonSaved: 'Einstellung gespeichert',
}
