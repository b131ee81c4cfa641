import {t} from '../text/schedules.ts'

const advice: Record<string, string> = {
  NOT_FOUND: t.checkTheAddressOrPathDatesIn,
  SIGN_IN_REFUSED: t.checkTheUserAndTheCredentials,
  HOST_REFUSED: t.useAnotherAddressOrAskTheOperator,
  ADDRESS_REFUSED: t.useAPublicAddressOrAskThe,
  HOST_KEY: t.askTheOperatorOfTheServerFor,
  REDIRECTED: t.enterTheAddressToWhichTheServer,
  UNREACHABLE: t.checkThatTheServerIsReachableFrom,
  TIMED_OUT: t.tryAgainLaterIfItHappensAgain,
  NOT_A_TABLE: t.theServerSentSomethingElseThanA,
  FILE_NO_ROWS: t.theScheduleSkipsAFileWithoutRows,
  FILE_EMPTY: t.checkThatTheFileIsCompleteWhen,
  QUERY_FAILED: t.correctTheQueryBelowSaveAnd,
  TOO_MANY_ROWS: t.narrowTheQueryForExample,
  TOO_LARGE: t.splitTheFileOrChooseAPlan,
}

export const adviceOf = (code: string): string => advice[code] ?? t.correctTheFileSourceBelowSaveAnd
