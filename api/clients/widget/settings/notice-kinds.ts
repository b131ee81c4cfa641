import {t} from '../text/notices.ts'

export const kinds: Record<string, string> = {
  'run.ended': t.aRunEnded,
  'run.undone': t.aRunWasUndone,
  'run.held': t.aRunIsHeld,
  'plan.waiting': t.aPlanWaits,
  'plan.approved': t.aPlanWasApproved,
  'template.approved': t.aTemplateWasApproved,
  'schedule.stopped': t.aScheduleWasTurnedOff,
  'schedule.skipped': t.aScheduleSkippedARun,
  'schedule.failed': t.aScheduleFailed,
  'schedule.drifted': t.aFileOrTheCrmNoLonger,
  'template.broken': t.aChangeOfTheCrmBreaksATemplate,
  'webhook.disabled': t.aWebhookWasDisabled,
  'usage.rows': t.shareOfRowsUsed,
  'usage.credits': t.shareOfCreditsUsed,
  'billing.payment_failed': t.aPaymentFailed,
  'billing.action_required': t.aPaymentNeedsConfirmation,
  'billing.trial_ending': t.theTrialIsEnding,
  'billing.topup_stopped': t.automaticTopUpWasTurnedOff,
  'billing.refunded': t.aPaymentWasRefunded,
  'billing.disputed': t.aPaymentIsDisputed,
  'billing.plan_changed': t.thePlanHasChanged,
}

export const sayKind = (kind: string): string => (kind === 'webhook.test' ? t.aTest : (kinds[kind] ?? kind))
