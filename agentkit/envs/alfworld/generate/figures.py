"""Figures that make a generated room look like a real one.

Weights and counts were fitted to the 3,327 public ALFWorld games; heights and camera angles are their medians.
"""

from collections.abc import Mapping
from types import MappingProxyType


def _kinds(names: str) -> frozenset[str]:
    return frozenset(names.split())


# How strongly a receptacle kind draws an object that fits it. With n receptacles of that kind in the room the kind
# draws weight * sqrt(n): the likelihood of the real games was best at that exponent (of 0, 0.5 and 1).
DRAW: Mapping[str, float] = MappingProxyType(
    {
        "ArmChair": 0.40,
        "BathtubBasin": 1.39,
        "Bed": 2.75,
        "Cabinet": 0.45,
        "Cart": 0.81,
        "CoffeeMachine": 1.50,
        "CoffeeTable": 1.14,
        "CounterTop": 1.00,
        "Desk": 1.12,
        "DiningTable": 1.50,
        "Drawer": 0.33,
        "Dresser": 0.97,
        "Fridge": 0.95,
        "GarbageCan": 0.28,
        "HandTowelHolder": 200.0,
        "LaundryHamper": 0.20,
        "Microwave": 0.29,
        "Ottoman": 0.42,
        "Safe": 0.50,
        "Shelf": 0.45,
        "SideTable": 0.58,
        "SinkBasin": 0.32,
        "Sofa": 1.02,
        "StoveBurner": 2.86,
        "TVStand": 0.96,
        "Toaster": 0.05,
        "Toilet": 0.60,
        "ToiletPaperHanger": 0.39,
        "TowelHolder": 0.71,
    }
)

# Receptacles that the shipped layouts leave out although the room has the kind:
# (how many, each equally likely; height in metres; the agent's camera angle in degrees).
MISSING: Mapping[str, tuple[tuple[int, ...], float, int]] = MappingProxyType(
    {
        "BathtubBasin": ((1,), 0.29, 60),
        "Cabinet": ((2, 4), 0.39, 60),
        "CoffeeMachine": ((1,), 0.90, 45),
        "Drawer": ((2, 3, 4), 0.54, 45),
        "GarbageCan": ((1,), 0.00, 60),
        "HandTowelHolder": ((1, 1, 2), 1.64, 0),
        "LaundryHamper": ((1,), 0.01, 60),
        "Ottoman": ((1,), 0.01, 60),
        "Safe": ((1,), 0.00, 60),
        "Shelf": ((1, 2, 3), 0.81, 45),
        "SinkBasin": ((1,), 0.86, 45),
        "StoveBurner": ((4,), 0.92, 45),
        "Toaster": ((1,), 0.90, 45),
        "Toilet": ((1,), 0.00, 60),
        "ToiletPaperHanger": ((1,), 0.91, 60),
        "TowelHolder": ((1, 1, 2), 1.36, 30),
    }
)

ON_A_COUNTER = frozenset({"CoffeeMachine", "Toaster"})  # of these, the ones that stand on a counter, if there is one

# Objects that no agent can pick up.
FIXED = _kinds(
    "Bathtub Blinds Chair Curtains DeskLamp FloorLamp HousePlant LaundryHamperLid LightSwitch Mirror Painting Poster "
    "ShowerDoor ShowerGlass Sink StoveKnob Television Window"
)
# Objects that stand on the floor even where a receptacle would hold them: seen in the room, never in reach.
ON_THE_FLOOR = _kinds("BaseballBat BasketBall Boots Footstool Plunger ScrubBrush TennisRacket")
# Where objects also stand at the start, although alfworld's containment table lets nobody put them back there.
STANDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "CreditCard": ("TVStand",),
        "DeskLamp": ("CoffeeTable", "Desk", "DiningTable", "Dresser", "Shelf", "SideTable"),
        "HousePlant": ("CoffeeTable", "CounterTop", "Desk", "DiningTable", "Shelf", "SideTable"),
        "KeyChain": ("TVStand",),
        "PaperTowelRoll": ("CounterTop", "DiningTable", "GarbageCan", "Shelf", "Toilet"),
        "RemoteControl": ("TVStand",),
        "Statue": ("TVStand",),
        "TeddyBear": ("Bed",),
        "Television": ("CoffeeTable", "Dresser", "TVStand"),
        "Vase": ("TVStand",),
        "Watch": ("TVStand",),
    }
)

# Instances of a kind, each entry equally likely. Kinds not listed: 1 to 3 if they can be picked up, otherwise 1.
COUNTS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "BaseballBat": (1,),
        "BasketBall": (1,),
        "Blinds": (1, 1, 1, 2),
        "Boots": (1,),
        "Box": (1, 1, 1, 2),
        "Bread": (1, 1, 1, 2, 2, 3),
        "Chair": (1, 1, 2, 4, 5),
        "Footstool": (1,),
        "HandTowel": (1, 1, 1, 1, 2),
        "Kettle": (1, 1, 2, 3),
        "Laptop": (1, 1, 1, 2, 2, 3),
        "Painting": (1, 1, 2, 3),
        "Pan": (1, 1, 1, 2),
        "PaperTowelRoll": (1,),
        "Pillow": (1, 1, 1, 2, 2),
        "Plunger": (1,),
        "Pot": (1, 1, 1, 2, 2, 3),
        "ScrubBrush": (1,),
        "StoveKnob": (4,),
        "TeddyBear": (1,),
        "TennisRacket": (1,),
        "ToiletPaper": (2, 2, 3),
        "Towel": (1, 1, 1, 1, 1, 2),
        "WateringCan": (1,),
        "Window": (1, 1, 1, 2, 2, 3),
    }
)
TARGETS_BEYOND_NEED = (0, 0, 0, 1, 1, 2, 3)  # copies of the task's object beyond the one or two it needs

# Height (m) and camera angle (degrees) at which things on walls and floors are seen; anything else: 0.9 m, 45.
SIGHT: Mapping[str, tuple[float, int]] = MappingProxyType(
    {
        "Blinds": (2.16, -30),
        "Chair": (0.01, 60),
        "Curtains": (2.26, -30),
        "FloorLamp": (0.00, 60),
        "LightSwitch": (1.33, 30),
        "Mirror": (1.49, 15),
        "Painting": (1.70, 0),
        "Poster": (1.70, 0),
        "ShowerGlass": (1.27, 30),
        "StoveKnob": (0.93, 60),
        "Television": (1.52, 0),
        "Window": (1.54, 0),
    }
)
# Chance that an object which the task is not about lies on the floor: seen, but out of reach.
LOOSE: Mapping[str, float] = MappingProxyType({"Bathroom": 0.06, "Bedroom": 0.06, "Kitchen": 0.02, "LivingRoom": 0.07})
CLOSED_TARGET = 0.5  # the task's object draws closed receptacles this much less than other objects do
INSIDE_A_CONTAINER = 0.01  # chance that an object next to a bowl, box, ... that fits it lies inside that one
