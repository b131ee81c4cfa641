import type {Stripe} from 'stripe'

/** The parameters of the supported calls. One closed schema per call is generated from them. */
export type Requests = {
  CustomerCreate: Stripe.CustomerCreateParams
  CustomerUpdate: Stripe.CustomerUpdateParams
  CustomerList: Stripe.CustomerListParams
  CustomerListPaymentMethods: Stripe.CustomerListPaymentMethodsParams
  ProductCreate: Stripe.ProductCreateParams
  ProductUpdate: Stripe.ProductUpdateParams
  ProductList: Stripe.ProductListParams
  PriceCreate: Stripe.PriceCreateParams
  PriceUpdate: Stripe.PriceUpdateParams
  PriceList: Stripe.PriceListParams
  CouponCreate: Stripe.CouponCreateParams
  PaymentMethodAttach: Stripe.PaymentMethodAttachParams
  PaymentMethodDetach: Stripe.PaymentMethodDetachParams
  PaymentMethodList: Stripe.PaymentMethodListParams
  SubscriptionCreate: Stripe.SubscriptionCreateParams
  SubscriptionUpdate: Stripe.SubscriptionUpdateParams
  SubscriptionCancel: Stripe.SubscriptionCancelParams
  SubscriptionResume: Stripe.SubscriptionResumeParams
  SubscriptionList: Stripe.SubscriptionListParams
  SubscriptionItemCreate: Stripe.SubscriptionItemCreateParams
  SubscriptionItemUpdate: Stripe.SubscriptionItemUpdateParams
  SubscriptionItemDelete: Stripe.SubscriptionItemDeleteParams
  SubscriptionItemList: Stripe.SubscriptionItemListParams
  ScheduleCreate: Stripe.SubscriptionScheduleCreateParams
  ScheduleUpdate: Stripe.SubscriptionScheduleUpdateParams
  ScheduleRelease: Stripe.SubscriptionScheduleReleaseParams
  ScheduleCancel: Stripe.SubscriptionScheduleCancelParams
  ScheduleList: Stripe.SubscriptionScheduleListParams
  InvoiceCreatePreview: Stripe.InvoiceCreatePreviewParams
  InvoiceCreate: Stripe.InvoiceCreateParams
  InvoiceAddLines: Stripe.InvoiceAddLinesParams
  InvoiceAttachPayment: Stripe.InvoiceAttachPaymentParams
  InvoiceList: Stripe.InvoiceListParams
  InvoiceFinalize: Stripe.InvoiceFinalizeInvoiceParams
  InvoicePay: Stripe.InvoicePayParams
  InvoiceVoid: Stripe.InvoiceVoidInvoiceParams
  InvoicePaymentList: Stripe.InvoicePaymentListParams
  CheckoutCreate: Stripe.Checkout.SessionCreateParams
  CheckoutExpire: Stripe.Checkout.SessionExpireParams
  CheckoutList: Stripe.Checkout.SessionListParams
  CheckoutListLineItems: Stripe.Checkout.SessionListLineItemsParams
  PortalSessionCreate: Stripe.BillingPortal.SessionCreateParams
  PortalConfigurationCreate: Stripe.BillingPortal.ConfigurationCreateParams
  PortalConfigurationUpdate: Stripe.BillingPortal.ConfigurationUpdateParams
  PortalConfigurationList: Stripe.BillingPortal.ConfigurationListParams
  PaymentIntentCreate: Stripe.PaymentIntentCreateParams
  PaymentIntentConfirm: Stripe.PaymentIntentConfirmParams
  PaymentIntentCancel: Stripe.PaymentIntentCancelParams
  PaymentIntentList: Stripe.PaymentIntentListParams
  RefundCreate: Stripe.RefundCreateParams
  MeterCreate: Stripe.Billing.MeterCreateParams
  MeterList: Stripe.Billing.MeterListParams
  MeterSummaries: Stripe.Billing.MeterListEventSummariesParams
  MeterEventCreate: Stripe.Billing.MeterEventCreateParams
  MeterEventAdjustmentCreate: Stripe.Billing.MeterEventAdjustmentCreateParams
  EventList: Stripe.EventListParams
  WebhookEndpointCreate: Stripe.WebhookEndpointCreateParams
  WebhookEndpointUpdate: Stripe.WebhookEndpointUpdateParams
  WebhookEndpointList: Stripe.WebhookEndpointListParams
  Retrieve: {expand?: string[]}
}

/** The objects in answers. Other objects appear only by id. */
export type Objects = {
  Customer: Stripe.Customer
  Product: Stripe.Product
  Price: Stripe.Price
  Plan: Stripe.Plan
  Coupon: Stripe.Coupon
  Discount: Stripe.Discount
  PaymentMethod: Stripe.PaymentMethod
  Subscription: Stripe.Subscription
  SubscriptionItem: Stripe.SubscriptionItem
  SubscriptionSchedule: Stripe.SubscriptionSchedule
  Invoice: Stripe.Invoice
  InvoiceLineItem: Stripe.InvoiceLineItem
  InvoicePayment: Stripe.InvoicePayment
  LineItem: Stripe.LineItem
  CheckoutSession: Stripe.Checkout.Session
  PortalSession: Stripe.BillingPortal.Session
  PortalConfiguration: Stripe.BillingPortal.Configuration
  PaymentIntent: Stripe.PaymentIntent
  Charge: Stripe.Charge
  Refund: Stripe.Refund
  Dispute: Stripe.Dispute
  Meter: Stripe.Billing.Meter
  MeterEvent: Stripe.Billing.MeterEvent
  MeterEventSummary: Stripe.Billing.MeterEventSummary
  MeterEventAdjustment: Stripe.Billing.MeterEventAdjustment
  WebhookEndpoint: Stripe.WebhookEndpoint
  Event: Stripe.EventBase
}
