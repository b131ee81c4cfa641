import {plural} from '../../ui/format.ts'
import type {t} from '../undo.ts'

const rowWords = (rows: number) => plural(rows, 'Zeile', 'Zeilen')

export const undo: typeof t = {
  undo: 'Rückgängig',
  viewRows: 'Zeilen ansehen',
  undoStates: {
    rows: (restored, deleted, kept) => `${restored} wiederhergestellt, ${deleted} gelöscht, ${kept} behalten`,
    keptValues: (number, values) => `, ${number} ${values === 1 ? 'geänderter Wert' : 'geänderte Werte'} behalten`,
  },
  thisRunWasUndone: 'Dieser Lauf wurde rückgängig gemacht.',
  thisRunIsBeingUndone: 'Dieser Lauf wird gerade rückgängig gemacht.',
  viewTheUndo: 'Rückgängigmachen ansehen',
  thisRunCouldBeUndoneUntil: until => `Dieser Lauf konnte bis ${until} rückgängig gemacht werden.`,
  valuesAndRecordsThatWereChanged: effect => `${effect} Seither geänderte Werte und Datensätze bleiben erhalten.`,
  takeTheUndoBack: 'Rückgängigmachen zurücknehmen',
  possibleUntil: until => ` Möglich bis ${until}.`,
  writesTheValuesOfTheImportAgain:
    'Schreibt die Werte des Imports noch einmal und stellt gelöschte Datensätze aus dem Papierkorb des CRM wieder her.',
  restoresTheValuesThatThisRun: 'Stellt die Werte wieder her, die dieser Lauf ersetzt hat, und löscht die Datensätze, die er angelegt hat.',
  previewTheUndo: 'Vorschau des Rückgängigmachens',
  stopAndUndo: 'Beenden und rückgängig machen',
  stopAndUndoQuestion: 'Lauf beenden und rückgängig machen?',
  writtenRowsAreUndone: rows =>
    `Der Lauf hat ${rowWords(rows)} geschrieben. Angelegte Datensätze werden gelöscht, ersetzte Werte kehren zurück. Was Personen seither geändert haben, bleibt.`,
  viewTheUndoneRun: 'Rückgängig gemachten Lauf ansehen',
  rowsSaid: said => `Zeilen: ${said}`,
  undoRows: restored => `${rowWords(restored)} rückgängig machen`,
  nothingWasWrittenYet: 'Noch wurde nichts geschrieben.',
  preview: said => `Vorschau: ${said}`,
  thePreviewCountsWhatTheCrmHeld: said =>
    `${said}. Die Vorschau zählt den damaligen Stand des CRM. Was Personen inzwischen ändern, bleibt ebenfalls erhalten.`,
  undoQuestion: restored => `${rowWords(restored)} rückgängig machen?`,
  deletedRecordsStayInTheRecycleBin: days => `Gelöschte Datensätze bleiben ${days} Tage im Papierkorb des CRM.`,
  actionsForTheRunOf: at => `Aktionen für den Lauf von ${at}`,
  timeToUndoHasPassed: 'Die Frist zum Rückgängigmachen ist abgelaufen.',
  cannotBeUndone: 'Der Lauf kann nicht rückgängig gemacht werden.',
  couldNotStopAndUndo: 'Der Lauf konnte nicht beendet und rückgängig gemacht werden',
  couldNotPreviewTheUndo: 'Die Vorschau des Rückgängigmachens ist fehlgeschlagen',
  canReturnUntil: at => ` Gelöschte Datensätze können bis ${at} zurückkehren.`,
  forecastingTheCost: 'Die Kosten werden geschätzt …',
  couldNotForecast: 'Die Kosten konnten nicht geschätzt werden.',
  forecastAgain: 'Erneut schätzen',
  quotaMayNotSuffice: 'Das Tageskontingent des CRM reicht vielleicht nicht aus',
  about: time => `Etwa ${time}`,
  crmCredits: credits => plural(credits, 'CRM-Credit', 'CRM-Credits'),
  crmCreditsBetween: (least, most) => `${least} bis ${most} CRM-Credits`,
  ofLeftToday: left => ` von heute noch ${left}`,
  mayPauseAt: row => `Der Lauf hält vielleicht bei Zeile ${row} an und wird automatisch fortgesetzt.`,
  wouldEndAbout: at => ` Er würde etwa ${at} enden.`,
}
