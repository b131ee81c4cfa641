import type {RowTexts} from '../errors.ts'

const of = (field: string, text: string) => (field === '' ? text : `${field}: ${text}`)

export const rowReasons: RowTexts = {
  INVALID_VALUE: field => of(field, 'kein gültiger Wert für dieses Feld'),
  AMBIGUOUS: () => 'Die Werte lassen sich verschieden lesen',
  ENCODING: () => 'Die Zeichenkodierung der Datei ist nicht sicher erkannt',
  UNDECODABLE: () => 'Die Datei enthält Zeichen, die in dieser Kodierung unlesbar sind',
  AMBIGUOUS_VALUE: field => of(field, 'der Wert ist mehrdeutig'),
  TOO_LONG: field => of(field, 'der Wert ist zu lang'),
  VALUE_UNMAPPED: field => of(field, 'der Wert hat keinen Eintrag in der Wertezuordnung'),
  NOT_IN_PICKLIST: field => of(field, 'der Wert ist keine Option der Auswahlliste'),
  MANDATORY_NOT_FOUND: field => of(field, 'das Pflichtfeld ist leer'),
  MATCH_MANY: () => 'Mehrere Datensätze passen',
  MATCH_ONE: () => 'Den Datensatz gibt es schon',
  MATCH_EMPTY: () => 'Die Zeile hat keinen Wert für den Abgleich',
  MATCH_NONE: () => 'Kein Datensatz passt',
  MATCH_SKIPPED: () => 'Nach Ihrer Antwort übersprungen',
  GONE: () => 'Der Datensatz ist nicht mehr im CRM',
  KEPT_EDIT: field => of(field, 'von einer Person geändert und deshalb behalten'),
  EDITED: field => of(field, 'von einer Person geändert'),
  UNCHANGED: () => 'Der Datensatz hat diese Werte schon',
  LOOKUP_MANY: field => of(field, 'mehrere Datensätze passen zur Verknüpfung'),
  LOOKUP_NONE: field => of(field, 'kein Datensatz passt zur Verknüpfung'),
  PARENT_FAILED: () => 'Die übergeordnete Zeile wurde nicht geschrieben',
  PARENT_MANY: () => 'Mehrere übergeordnete Zeilen passen',
  ROW_RAGGED: () => 'Die Zeile hat mehr oder weniger Zellen als die Kopfzeile',
  ROW_EMPTY: () => 'Die Zeile ist leer',
  ROWS_MISSING: () => 'Ein neuer Datensatz braucht eine Zeile im Unterformular',
  ROWS_FAILED: () => 'Eine Zeile des Unterformulars hat einen Fehler',
  ROWS_APART: () => 'Die Zeilen des Datensatzes stehen nicht direkt untereinander',
  ROW_OF_SAME_PARENT: () => 'Eine andere Zeile desselben Datensatzes hat einen Fehler',
}
