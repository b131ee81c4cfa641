import type {t} from '../reasons.ts'

const connections = {label: 'Verbindungen', parts: ['connections']}
const lookYourself = 'Suchen Sie den Datensatz der Zeile im CRM. Importieren Sie die Zeile nur dann noch einmal, wenn er nicht da ist.'
const resumes = 'Der Lauf wird automatisch fortgesetzt.'
const retries = 'Der Lauf versucht es automatisch erneut.'

export const reasons: typeof t = {
  pauses: {
    DAILY_ALLOWANCE_SPENT: {
      title: 'Das Tageskontingent der CRM-API ist aufgebraucht',
      todo: `${resumes} Brechen Sie ihn ab, wenn Sie nicht warten möchten.`,
    },
    RATE_LIMITED: {title: 'Das CRM nimmt zurzeit keine weiteren Anfragen an', todo: 'Der Lauf wird gleich automatisch fortgesetzt.'},
    CRM_UNAVAILABLE: {title: 'Das CRM antwortet nicht', todo: resumes},
    CONNECTION_UNAVAILABLE: {
      title: 'Das CRM lehnt die Verbindung ab',
      todo: `${retries} Bleibt es dabei, verbinden Sie das CRM unter „Verbindungen“ neu.`,
      go: connections,
    },
    CONNECTION_THROTTLED: {title: 'Das CRM begrenzt, wie oft der Zugriff erneuert wird', todo: resumes},
    GUARD: {
      title: 'Zu viele Zeilen sind fehlgeschlagen, deshalb wartet der Lauf',
      todo: 'Prüfen Sie diese Zeilen, und setzen Sie den Lauf fort, oder brechen Sie ihn ab. Ein abgebrochener Lauf lässt sich rückgängig machen.',
    },
    WRITES_PAUSED: {
      title: 'Das Schreiben ist angehalten',
      todo: 'Bitten Sie einen Admin, es unter „Verbindungen“ fortzusetzen. Dann läuft der Lauf automatisch weiter.',
      go: connections,
    },
    ORG_CLOSED: {title: 'Diese Organisation ist geschlossen', todo: 'Der Lauf wird fortgesetzt, wenn sie wieder geöffnet ist.'},
    FROM_FUTURE: {title: 'Der Dienst wird aktualisiert', todo: 'Danach wird der Lauf fortgesetzt. Nichts geht verloren.'},
    BULK_JOB_OPEN: {
      title: 'Das CRM hat einen Massenauftrag noch nicht beendet',
      todo: 'Der Lauf wird fortgesetzt, wenn der Auftrag endet. Wenn Sie ihn abbrechen, bleiben Zeilen des Auftrags vielleicht unbeantwortet.',
    },
    SANDBOX_UNAVAILABLE: {title: 'Ausdrücke können zurzeit nicht ausgeführt werden', todo: retries},
    UNAVAILABLE: {title: 'Ein Teil des Dienstes ist nicht erreichbar', todo: retries},
  },
  stops: {
    CANCELLED: {
      title: 'Der Lauf wurde abgebrochen',
      todo: 'Wiederholen Sie ihn, um fortzufahren. Schon geschriebene Zeilen werden nicht noch einmal geschrieben.',
    },
    LIMIT_ROWS_PER_RUN: {
      title: 'Der Lauf hat seine Zeilengrenze erreicht',
      todo: 'Wiederholen Sie ihn, um die übrigen Zeilen zu schreiben, oder prüfen Sie die Grenzen Ihres Tarifs.',
      go: {label: 'Tarif und Nutzung', parts: ['settings', 'plan']},
    },
    GRANT_ENDED: {
      title: 'Die Verbindung ist beendet',
      todo: 'Verbinden Sie das CRM neu, und wiederholen Sie dann den Lauf.',
      go: connections,
    },
    CRM_REFUSED: {title: 'Das CRM hat diesen Lauf abgelehnt', todo: 'Beheben Sie das Problem im CRM, und wiederholen Sie dann den Lauf.'},
    FIELD_NOT_UNIQUE: {
      title: 'Das Idempotenzfeld eines Moduls wurde im CRM geändert',
      todo: 'Korrigieren Sie das Feld im CRM, und lesen Sie es neu ein, oder ändern Sie das Modul in den Einstellungen. Wiederholen Sie dann den Lauf.',
      go: {label: 'Module', parts: ['settings', 'modules']},
    },
    FIELD_NOT_WRITABLE: {
      title: 'Ein Feld, das der Lauf schreibt, wurde im CRM entfernt oder geändert',
      todo: 'Korrigieren Sie das Feld im CRM, und lesen Sie es neu ein, oder ändern Sie die Zuordnung. Wiederholen Sie dann den Lauf.',
    },
    LAPSED: {
      title: 'Der Lauf war zu lange angehalten',
      todo: 'Prüfen Sie, ob das CRM erreichbar ist, und wiederholen Sie dann den Lauf.',
    },
    FILE_GONE: {
      title: 'Die Datei wurde gelöscht',
      todo: 'Laden Sie die Datei in einen neuen Import, und gleichen Sie darin mit vorhandenen Datensätzen ab. So wird kein geschriebener Datensatz noch einmal angelegt.',
      go: {label: 'Importe', parts: ['imports']},
    },
    EXPRESSION_TIMEOUT: {
      title: 'Ein Ausdruck dauert zu lange',
      todo: 'Vereinfachen Sie den Ausdruck in der Zuordnung, und wiederholen Sie dann den Lauf.',
    },
    ENGINE_FAILED: {
      title: 'Der Lauf ist wegen eines internen Fehlers fehlgeschlagen',
      todo: 'Wiederholen Sie ihn später. Geschieht es erneut, wenden Sie sich an den Support.',
    },
    PLAN_CHANGED: {title: 'Der versiegelte Plan wurde geändert', todo: 'Starten Sie eine neue Vorschau, und versiegeln Sie ihren Plan.'},
    UNDO_EXPIRED: {title: 'Die Werte zum Wiederherstellen wurden gelöscht', todo: 'Korrigieren Sie die übrigen Datensätze im CRM.'},
  },
  runPaused: {title: 'Der Lauf ist angehalten', todo: 'Er wird automatisch fortgesetzt.'},
  runStopped: {title: 'Der Lauf wurde abgebrochen', todo: 'Beheben Sie das Problem, und wiederholen Sie dann den Lauf.'},
  insteadOfRetry: {
    cause: 'Beheben Sie zuerst die Ursache.',
    undo: 'Machen Sie den Lauf noch einmal rückgängig, um fortzufahren.',
    deletes: 'Ein neuer Lauf löscht die übrigen Datensätze.',
    external: 'Starten Sie einen weiteren Lauf für die übrigen Zeilen.',
  },
  fewerRows: {
    title: 'Ein Lauf würde vor dem Ende abbrechen',
    todo: 'Wählen Sie weniger Zeilen, oder prüfen Sie die Grenzen Ihres Tarifs.',
  },
  cancelling: 'Wird abgebrochen: Gesendete Pakete werden noch abgeschlossen',
  ofDryRun: title => String(title).replace('Der Lauf', 'Der Probelauf'),
  dryRunStopped: 'Nichts wurde geschrieben. Beheben Sie das Problem, und starten Sie dann einen neuen Probelauf.',
  lookedFor: 'Wiederholen Sie den Lauf. Er sucht zuerst den Datensatz, damit er nicht doppelt entsteht.',
  lookYourself,
  unanswered: {
    RESEND_SAFE: 'Wiederholen Sie den Lauf. Ein eindeutiges Feld verhindert einen doppelten Datensatz.',
    KEY_UNANSWERED:
      'Eine andere Zeile mit dem gleichen Abgleichwert blieb ohne Antwort. Suchen Sie ihren Datensatz im CRM, und wiederholen Sie dann.',
    RECORD_HELD:
      'Das CRM hat für diese Zeile den Datensatz einer anderen Zeile genannt. Suchen Sie den Datensatz dieser Zeile im CRM, und wiederholen Sie dann den Lauf.',
    MAYBE_MADE:
      'Mehrere Datensätze im CRM gleichen dieser Zeile. Prüfen Sie sie im CRM, und importieren Sie die Zeile nur dann noch einmal, wenn keiner zu ihr gehört.',
    SENT_BEFORE: lookYourself,
    PAYLOAD_CHANGED: 'Stellen Sie die Zuordnung so ein wie beim Senden der Zeile, und wiederholen Sie dann.',
  },
  advice: {
    INVALID_VALUE: 'Ändern Sie den Wert in der Datei oder die Zuordnung.',
    AMBIGUOUS_VALUE: 'Wählen Sie unter „Zuordnen“, wie solche Werte gelesen werden.',
    TOO_LONG: 'Kürzen Sie den Wert in der Datei oder mit einem Ausdruck.',
    VALUE_UNMAPPED: 'Ergänzen Sie den Wert in der Wertezuordnung des Felds, und wiederholen Sie dann.',
    NOT_IN_PICKLIST: 'Ordnen Sie den Wert einer Option zu, oder ergänzen Sie die Option im CRM.',
    MANDATORY_NOT_FOUND: 'Ein Pflichtfeld ist leer. Füllen Sie es in der Datei, oder ordnen Sie es zu.',
    INVALID_DATA: 'Das CRM nimmt einen Wert nicht an. Ändern Sie ihn in der Datei, oder ändern Sie die Zuordnung.',
    DUPLICATE_DATA: 'Einen Datensatz mit diesem Wert gibt es schon. Gleichen Sie über dieses Feld ab, um ihn zu ändern.',
    MATCH_MANY: 'Mehrere Datensätze passen. Beantworten Sie die Fragen, und wiederholen Sie dann.',
    MATCH_ONE: 'Den Datensatz gibt es schon, und die Zuordnung überspringt solche Zeilen.',
    MATCH_EMPTY: 'Die Zeile hat keinen Wert, um ihren Datensatz zu finden. Füllen Sie ihn in der Datei, um den Datensatz zu löschen.',
    MATCH_NONE: 'Kein Datensatz hat diesen Wert. Deshalb wurde keiner gelöscht.',
    GONE: 'Der Datensatz ist nicht mehr im CRM. Sie müssen nichts tun.',
    DELETED_BEFORE:
      'Ein früherer Lauf hat den Datensatz gelöscht. Eine Wiederholung schreibt die Zeile deshalb nicht. Starten Sie dafür einen neuen Lauf.',
    KEPT_EDIT:
      'Eine Person hat den Wert im CRM geändert, deshalb blieb er. Um ihn zu schreiben, wählen Sie in der Zuordnung „überschreiben“, und importieren Sie erneut.',
    PLAN_STALE:
      'Die Zeile oder ihr Datensatz hat sich geändert, seit der Plan erstellt wurde. Sie wurde nicht geschrieben. Erstellen Sie dafür einen neuen Plan.',
    EDITED: 'Eine Person hat den Wert im CRM geändert. Beantworten Sie die Fragen, und wiederholen Sie dann.',
    UNCHANGED: 'Der Datensatz hat diese Werte schon. Sie müssen nichts tun.',
    MATCH_SKIPPED: 'Sie haben diese Zeile übersprungen. Um sie zu schreiben, ändern Sie Ihre Antwort, und wiederholen Sie.',
    MATCH_REFUSED: 'Das CRM kann nach diesem Wert nicht suchen. Ändern Sie ihn, oder gleichen Sie über ein anderes Feld ab.',
    LOOKUP_MANY: 'Mehrere Datensätze passen zur Verknüpfung. Beantworten Sie die Fragen, und wiederholen Sie dann.',
    LOOKUP_NONE: 'Kein Datensatz passt zur Verknüpfung. Importieren Sie zuerst die fehlenden Datensätze, oder korrigieren Sie den Wert.',
    LOOKUP_REFUSED: 'Das CRM kann nach diesem Wert der Verknüpfung nicht suchen. Korrigieren Sie den Wert.',
    PARENT_FAILED: 'Die übergeordnete Zeile wurde nicht geschrieben. Korrigieren Sie diese, und wiederholen Sie dann.',
    PARENT_MANY: 'Mehrere übergeordnete Zeilen passen. Machen Sie die übergeordnete Zeile in der Datei eindeutig.',
    PAYLOAD_CHANGED: 'Stellen Sie die Zuordnung so ein wie beim Senden der Zeile, und wiederholen Sie dann.',
    MAYBE_MADE: lookYourself,
    SENT_BEFORE: lookYourself,
    ROW_RAGGED: 'Die Zeile hat mehr oder weniger Zellen als die Kopfzeile. Korrigieren Sie die Zeile in der Datei.',
    ROW_QUOTE:
      'Ein Anführungszeichen ist wohl nicht geschlossen, also enthält eine Zelle vielleicht die Zeilen darunter. Schließen Sie es, oder importieren Sie die Zellen so.',
    ROW_EMPTY: 'Die Zeile ist leer. Sie müssen nichts tun.',
    ROWS_MISSING:
      'Ein neuer Datensatz braucht mindestens eine Zeile im Unterformular. Ergänzen Sie eine in deren Datei, und wiederholen Sie dann.',
    ROWS_FAILED: 'Eine Zeile des Unterformulars hat einen Fehler. Korrigieren Sie sie, und wiederholen Sie dann.',
    ROWS_APART: 'Stellen Sie die Zeilen eines Datensatzes in der Datei direkt untereinander.',
    ROW_OF_SAME_PARENT: 'Korrigieren Sie die andere Zeile desselben Datensatzes, und wiederholen Sie dann.',
    BATCH_SIZE: 'Der Datensatz hat zu viele Zeilen für das CRM. Teilen Sie sie auf.',
    NO_PERMISSION: 'Dem CRM-Benutzer der Verbindung fehlt eine Berechtigung. Fragen Sie den CRM-Administrator.',
  },
  codes: {
    INVALID_VALUE: 'Ungültiger Wert',
    AMBIGUOUS_VALUE: 'Mehrdeutiger Wert',
    TOO_LONG: 'Wert zu lang',
    VALUE_UNMAPPED: 'Wert ohne Eintrag',
    NOT_IN_PICKLIST: 'Keine Option der Auswahlliste',
    MANDATORY_NOT_FOUND: 'Pflichtfeld leer',
    INVALID_DATA: 'Vom CRM nicht angenommen',
    DUPLICATE_DATA: 'Datensatz schon vorhanden',
    MATCH_MANY: 'Mehrere Datensätze passen',
    MATCH_ONE: 'Schon vorhanden, übersprungen',
    MATCH_EMPTY: 'Kein Wert zum Abgleich',
    MATCH_NONE: 'Kein Datensatz passt',
    GONE: 'Datensatz nicht mehr da',
    DELETED_BEFORE: 'Von einem früheren Lauf gelöscht',
    KEPT_EDIT: 'Von einer Person geändert, behalten',
    PLAN_STALE: 'Seit dem Plan geändert',
    EDITED: 'Von einer Person geändert',
    UNCHANGED: 'Unverändert',
    MATCH_SKIPPED: 'Nach Ihrer Antwort übersprungen',
    MATCH_REFUSED: 'Wert nicht suchbar',
    LOOKUP_MANY: 'Mehrere Datensätze zur Verknüpfung',
    LOOKUP_NONE: 'Kein Datensatz zur Verknüpfung',
    LOOKUP_REFUSED: 'Wert der Verknüpfung nicht suchbar',
    PARENT_FAILED: 'Übergeordnete Zeile nicht geschrieben',
    PARENT_MANY: 'Mehrere übergeordnete Zeilen',
    ROW_RAGGED: 'Zu viele oder zu wenige Zellen',
    ROW_QUOTE: 'Anführungszeichen nicht geschlossen',
    ROW_EMPTY: 'Leere Zeile',
    ROWS_MISSING: 'Keine Zeile im Unterformular',
    ROWS_FAILED: 'Fehler in einer Zeile des Unterformulars',
    ROWS_APART: 'Zeilen des Unterformulars getrennt',
    NO_PERMISSION: 'Keine Berechtigung im CRM',
    EXPRESSION_FAILED: 'Ausdruck fehlgeschlagen',
    DELETED: 'Gelöscht',
    RESTORED: 'Wiederhergestellt',
  },
  // For `CRM_REFUSED`, the page shows the CRM's text, because that text contains the reason.
  hasOwnWords: code => code !== 'CRM_REFUSED',
  expressionFails: 'Der Ausdruck schlägt bei dieser Zeile fehl. Korrigieren Sie ihn unter „Zuordnen“.',
  fixInCrmOrFile: 'Beheben Sie das Problem im CRM oder in der Datei, und wiederholen Sie dann.',
  fixInFile: 'Beheben Sie das Problem in der Datei oder unter „Zuordnen“, und wiederholen Sie dann.',
}
